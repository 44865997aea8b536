"""Questions about tables of many recordings, for Spark: functions, regressions, and a flame graph.

    spark-submit spark/fleet.py functions   TABLES OUT [--by service,date] [--top 100]
    spark-submit spark/fleet.py regressions TABLES OUT --before build=1.4 --after build=1.5
    spark-submit spark/fleet.py flame       TABLES OUT [--where service=web]

TABLES and OUT are folders or buckets. TABLES has what "perfdata export parquet --names" wrote, OUT gets
Parquet files; "perfdata flame OUT" opens those of flame. docs/fleet.md says more.
"""

import argparse
import math
import sys

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

VERSION = 1
"""The version of tables that this reads."""

LEAST_SAMPLES = 10
"""A function is tested from so many samples on, those of both sides."""


class Refused(Exception):
    """What is said in one line."""


class Tables:
    """The tables of a folder, some partitions of them."""

    def __init__(self, spark: SparkSession, folder: str, where: dict[str, str]):
        self._spark, self._folder, self._where = spark, folder, where
        versions = [row[0] for row in self.read("recordings").select("version").distinct().collect()]
        if versions != [VERSION]:
            found = " and ".join(map(str, sorted(versions))) or "none"
            raise Refused(f"{folder}: tables of version {found}, expected {VERSION}")

    def read(self, table: str) -> DataFrame:
        """A table, with its partitions as columns."""
        rows = self._spark.read.parquet(f"{self._folder}/{table}")
        for column, value in self._where.items():
            if column not in rows.columns:
                raise Refused(f"{table} has no column {column}")
            chosen = F.col(column).cast("string") == value
            # Names that were looked up later belong to no partition.
            rows = rows.where(chosen | F.col(column).isNull() if table == "frames" else chosen)
        return rows

    def frames(self) -> DataFrame:
        """Each frame once, by the row that has a name if there is one; without what is inlined."""
        order = Window.partitionBy("frame_id").orderBy(
            F.col("function").isNull(), F.coalesce("verified", F.lit(False)).desc(), "object", "function"
        )
        rows = self.read("frames").where(F.col("inline_of").isNull())
        rows = rows.withColumn("rank", F.row_number().over(order)).where("rank = 1")
        return rows.select("frame_id", "object", "function")

    def samples(self) -> DataFrame:
        """Samples with the object and the function of each."""
        named = self.read("samples").join(self.frames(), "frame_id", "left")
        return named.withColumn("function", F.coalesce("function", F.lit("[unknown]")))


def functions(tables: Tables, by: list[str], top: int) -> DataFrame:
    """The functions with the largest share of each group and event."""
    samples = tables.samples()
    for column in by:
        if column not in samples.columns:
            raise Refused(f"samples has no column {column}: export with --partition {column}=...")
    sums = samples.groupBy(*by, "event", "function", "object").agg(
        F.count("*").alias("samples"), F.sum("period").alias("period")
    )
    group = Window.partitionBy(*by, "event")
    rank = F.row_number().over(group.orderBy(F.desc("period"), "function", "object"))
    share = F.col("period") / F.sum("period").over(group)
    return sums.withColumn("share", share).withColumn("rank", rank).where(F.col("rank") <= top)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + numerator * d or tiny)
            c = 1 + numerator / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * value / a


def chance(n1: int, mean1: float, var1: float, n2: int, mean2: float, var2: float) -> float | None:
    """How likely chance alone makes such a difference of means: Welch's test, two-sided."""
    if n1 < 2 or n2 < 2:
        return None
    e1, e2 = var1 / n1, var2 / n2
    if e1 + e2 <= 0:
        return 1.0 if mean1 == mean2 else 0.0
    t2 = (mean2 - mean1) ** 2 / (e1 + e2)
    freedom = (e1 + e2) ** 2 / (e1**2 / (n1 - 1) + e2**2 / (n2 - 1))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t2))


def regressions(
    tables: Tables, before: tuple[str, str], after: tuple[str, str], false: float
) -> DataFrame:
    """Functions whose share differs between two sides, each recording being one measurement."""
    (column, old), (other, new) = before, after
    if column != other:
        raise Refused(f"--before is of {column}, --after of {other}")
    samples = tables.samples()
    if column not in samples.columns:
        raise Refused(f"samples has no column {column}: export with --partition {column}=...")
    value = F.col(column).cast("string")
    side = F.when(value == old, "before").when(value == new, "after")
    samples = samples.withColumn("side", side).where("side IS NOT NULL")
    of_recording = samples.groupBy("side", "event", "recording_id").agg(F.sum("period").alias("all"))
    counts = of_recording.groupBy("event").agg(
        F.sum((F.col("side") == "before").cast("long")).alias("n1"),
        F.sum((F.col("side") == "after").cast("long")).alias("n2"),
    )
    shares = (
        samples.groupBy("side", "event", "recording_id", "function", "object")
        .agg(F.sum("period").alias("period"), F.count("*").alias("samples"))
        .join(of_recording, ["side", "event", "recording_id"])
        .withColumn("share", F.col("period") / F.col("all"))
    )
    sums = shares.groupBy("event", "function", "object").agg(
        F.sum("samples").alias("samples"),
        *[
            F.sum(F.when(F.col("side") == name, F.col("share") ** power).otherwise(0.0)).alias(f"s{i}{power}")
            for i, name in ((1, "before"), (2, "after"))
            for power in (1, 2)
        ]
    )

    def variance(i: int):
        n, s = F.col(f"n{i}"), F.col(f"s{i}1")
        return F.when(n > 1, F.greatest((F.col(f"s{i}2") - s * s / n) / (n - 1), F.lit(0.0)))

    tested = sums.join(counts, "event").where("n1 > 0 AND n2 > 0").select(
        *["event", "function", "object", "samples", "n1", "n2"],
        (F.col("s11") / F.col("n1")).alias("before"),
        (F.col("s21") / F.col("n2")).alias("after"),
        variance(1).alias("v1"),
        variance(2).alias("v2"),
    )
    # A share of a handful of samples is no measurement.
    test = F.udf(chance, DoubleType())("n1", "before", "v1", "n2", "after", "v2")
    tested = tested.withColumn("chance", F.when(F.col("samples") >= LEAST_SAMPLES, test))
    # Of many functions that did not change, some look so by chance: the false ones among those that are
    # called significant are bounded (Benjamini and Hochberg).
    event = Window.partitionBy("event")
    rank = F.row_number().over(event.orderBy(F.col("chance").asc_nulls_last(), "function", "object"))
    tested = tested.withColumn("rank", rank).withColumn("all", F.count("chance").over(event))
    passes = F.col("chance") <= F.lit(false) * F.col("rank") / F.col("all")
    last = F.max(F.when(passes, F.col("rank"))).over(event)
    return tested.select(
        *["event", "function", "object", "samples", "before", "after"],
        (F.col("after") - F.col("before")).alias("change"),
        *["chance", F.coalesce(F.col("rank") <= last, F.lit(False)).alias("significant")],
        F.col("n1").alias("recordings_before"),
        F.col("n2").alias("recordings_after"),
    )


def flame(tables: Tables) -> dict[str, DataFrame]:
    """Sums by stack, with the stacks and frames: what perfdata reads like a recording."""
    weights = tables.read("samples").groupBy("event", "comm", "stack_id").agg(
        F.count("*").alias("samples"), F.sum("period").alias("period")
    )
    frames = tables.read("frames")
    named = Window.partitionBy("frame_id").orderBy(F.col("function").isNull(), "object", "function")
    return {
        "weights": weights.withColumn("version", F.lit(VERSION)),
        "stacks": tables.read("stacks").dropDuplicates(["stack_id"]),
        "frames": frames.withColumn("rank", F.row_number().over(named)).where("rank = 1").drop("rank"),
    }


def pair(text: str) -> tuple[str, str]:
    """A column and a value."""
    column, equals, value = text.partition("=")
    if not (column and equals and value):
        raise argparse.ArgumentTypeError(f"{text}: expected COLUMN=VALUE")
    return column, value


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fleet.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked = parser.add_subparsers(dest="question", required=True)
    for name, about in (
        ("functions", "functions with the largest shares"),
        ("regressions", "functions whose share changed"),
        ("flame", "stacks with weights, for perfdata flame"),
    ):
        one = asked.add_parser(name, help=about)
        one.add_argument("tables", help="folder or bucket of tables")
        one.add_argument("out", help="folder or bucket for the answer")
        one.add_argument("--where", type=pair, action="append", default=[], help="COLUMN=VALUE")
        if name == "functions":
            one.add_argument("--by", default="service,date", help="partitions to group by")
            one.add_argument("--top", type=int, default=100, help="rows of each group")
        if name == "regressions":
            one.add_argument("--before", type=pair, required=True, help="COLUMN=VALUE")
            one.add_argument("--after", type=pair, required=True, help="COLUMN=VALUE")
            one.add_argument("--false", type=float, default=0.05, help="share of false alarms")
    return parser.parse_args(arguments)


def answer(spark: SparkSession, arguments: list[str]) -> int:
    """Answers one question; returns the exit code."""
    asked = parsed(arguments)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    # Builds such as 1.10 are no numbers.
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    try:
        tables = Tables(spark, asked.tables, dict(asked.where))
        if asked.question == "flame":
            found = flame(tables)
        elif asked.question == "functions":
            found = {"": functions(tables, [name for name in asked.by.split(",") if name], asked.top)}
        else:
            found = {"": regressions(tables, asked.before, asked.after, asked.false)}
        for name, rows in found.items():
            path = f"{asked.out}/{name}".rstrip("/")
            rows.write.option("compression", "zstd").mode("errorifexists").parquet(path)
    except Refused as error:
        print(f"fleet.py: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # What Spark says has a page of Java after its first line.
        first = str(error).strip().splitlines() or [type(error).__name__]
        print(f"fleet.py: {first[0]}", file=sys.stderr)
        return 1
    return 0


def main(arguments: list[str]) -> int:
    parsed(arguments)
    spark = SparkSession.builder.appName("perfdata").getOrCreate()
    try:
        return answer(spark, arguments)
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
