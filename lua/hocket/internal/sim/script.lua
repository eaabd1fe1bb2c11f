--- Which script answers for `sim` models of all runs in this process; nil: each run's own, or the one built in.
return { path = nil }
