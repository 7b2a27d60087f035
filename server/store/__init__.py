"""The database: tables, log, links, people, outbox, standing orders, alerts, migrations."""
