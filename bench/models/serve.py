"""A llama.cpp server (PyPI's xllamacpp) on 127.0.0.1: serve.py MODEL.gguf PORT THREADS. It ends with its standard input."""
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[3])
params.n_ctx = 4096
params.n_parallel = 4  # so many prompts are kept computed: a trial's agents take turns
params.kv_unified = True
params.warmup = False
server = xllamacpp.Server(params)
print("serving", server.listening_address, flush=True)
sys.stdin.read()
