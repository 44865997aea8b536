"""Asks each question of spark/fleet.py, on a cluster of two workers; reads each table by Spark."""

import json
import sys

from pyspark.sql import SparkSession

job, tables, out, master, *names = sys.argv[1:]
sys.path.insert(0, job)
sys.dont_write_bytecode = True
import fleet  # noqa: E402

spark = (
    SparkSession.builder.master(master)
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "ERROR")
    .getOrCreate()
)
spark.sparkContext.addPyFile(f"{job}/fleet.py")
codes = [
    fleet.answer(spark, ["functions", tables, f"{out}/functions"]),
    fleet.answer(
        spark,
        ["regressions", tables, f"{out}/regressions", "--before", "build=1.9", "--after", "build=1.10"],
    ),
    fleet.answer(spark, ["flame", tables, f"{out}/flame"]),
    fleet.answer(spark, ["functions", tables, f"{out}/none", "--by", "nothing"]),
]
read = {}
for name in names:
    rows = spark.read.parquet(f"{tables}/{name}")
    read[name] = [rows.count(), sorted(rows.columns)]
workers = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
spark.stop()
print(json.dumps({"codes": codes, "read": read, "workers": workers}))
