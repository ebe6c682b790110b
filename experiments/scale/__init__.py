"""Runs on many machines: a simulation of the scheduler, and random kills of real runs."""
