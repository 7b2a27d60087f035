"""Imports everything a server imports, so that processes forked from it start immediately."""

import gunicorn.app.base
import gunicorn.workers.gthread
import psycopg
import sqlalchemy.dialects.postgresql.psycopg
import sqlalchemy.dialects.sqlite
import waitress.server

import server.cli
import server.ops.serve
import server.scheduler.loop
import server.web.setup

__all__ = ["gunicorn", "psycopg", "server", "sqlalchemy", "waitress"]
