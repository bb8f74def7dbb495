"""Spark looks for sources in packages named pyspark_*: this one makes ``spark.read.format("penstock")`` work."""

from penstock.spark import PenstockDataSource as DefaultSource

__all__ = ["DefaultSource"]
