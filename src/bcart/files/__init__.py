"""CSV and Parquet files of any size become grids and cells within DuckDB, and predictions become a file."""
