"""Everything a server imports, so that what is forked from a process that holds this starts at once."""

import importlib

import gunicorn.app.base
import gunicorn.workers.gthread
import psycopg
import sqlalchemy.dialects.postgresql.psycopg
import sqlalchemy.dialects.sqlite
import waitress.server

import server.cli
import server.jobs
import server.pages
import server.serving

for room in server.pages.ROOMS:
    importlib.import_module(f"server.pages.{room}")

__all__ = ["gunicorn", "psycopg", "server", "sqlalchemy", "waitress"]
