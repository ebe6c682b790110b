"""Which precision and which kernels a model runs in."""
