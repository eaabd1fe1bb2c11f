--- Which script answers for `sim` models in this process; nil: the one that is built in.
return { path = nil }
