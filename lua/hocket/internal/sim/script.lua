--- Which script answers for `sim` models of all runs in this process; nil: each run's own, or the one that is built in.
return { path = nil }
