"""Pages and API: blueprints grouped by what people do."""
