"""Operations: doctor, serving, metrics, health checks."""
