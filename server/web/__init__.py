"""Pages and API: blueprints by what people do."""
