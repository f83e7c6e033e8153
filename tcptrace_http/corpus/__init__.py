"""Datasets of many captures: what is in them is Parquet, and markers that say what is complete."""
