# telemetry
