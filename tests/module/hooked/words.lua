return { seen = " (seen)" }
