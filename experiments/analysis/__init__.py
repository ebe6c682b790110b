"""Tests of the analyses: calibration, and planted change."""
