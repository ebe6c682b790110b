"""What the analyses of tables claim, tested: calibration, planted change."""
