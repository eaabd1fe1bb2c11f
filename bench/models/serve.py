"""A llama.cpp server (PyPI's xllamacpp) on 127.0.0.1: serve.py MODEL.gguf PORT [WINDOW]. It ends with its standard input."""
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.n_ctx = int(sys.argv[3]) if len(sys.argv) > 3 else 4096
params.n_parallel = 1
params.warmup = False
server = xllamacpp.Server(params)
print("serving", server.listening_address, flush=True)
sys.stdin.read()
