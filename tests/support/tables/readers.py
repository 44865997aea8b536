"""Reads all tables of a directory by DuckDB, Arrow and Polars, as Parquet and as Arrow streams, and prints
their rows as JSON."""

import glob
import json
import sys

import duckdb
import polars
import pyarrow.ipc
import pyarrow.parquet

folder, *tables = sys.argv[1:]


def rows(columns, values):
    """Rows as lists of texts, sorted: times of day as microseconds since 1970."""

    def text(value):
        if hasattr(value, "timestamp"):
            return str(round(value.timestamp() * 1e6))
        return str(value)

    return sorted([text(row[column]) for column in columns] for row in values)


found = {}
for table in tables:
    files = sorted(glob.glob(f"{folder}/{table}/**/*.parquet", recursive=True))
    arrow = [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]
    columns = sorted(pyarrow.parquet.read_schema(files[0]).names)
    found[f"pyarrow {table}"] = rows(columns, arrow)
    cursor = duckdb.execute(f"SET TimeZone = 'UTC'; SELECT * FROM read_parquet({files!r})")
    names = [column[0] for column in cursor.description]
    found[f"duckdb {table}"] = rows(columns, [dict(zip(names, row)) for row in cursor.fetchall()])
    found[f"polars {table}"] = rows(columns, polars.read_parquet(files).to_dicts())
    [stream] = glob.glob(f"{folder}/{table}/*.arrows")
    read = pyarrow.ipc.open_stream(stream).read_all()
    read.validate(full=True)
    if read.schema.names != pyarrow.parquet.read_schema(files[0]).names:
        raise SystemExit(f"{table}: other columns")
    found[f"arrow-stream {table}"] = rows(columns, read.to_pylist())
    found[f"polars-stream {table}"] = rows(columns, polars.read_ipc_stream(stream).to_dicts())
json.dump(found, sys.stdout)
