# Every target sets up its requirements; only make must be installed.
.PHONY: demo test bench check long zoo setup clean

demo: setup
	@tools/demo

test:
	@tools/bootstrap
	@tools/test

bench: setup
	@tools/venv original
	@tools/venv tensorflow
	@tools/venv tensorflow-2.15
	@tools/install_package tensorflow tensorflow-2.15
	@benchmarks/run

check: setup
	@tools/check

long: setup
	@tools/bootstrap --aarch64 --swift
	@tools/test --long
	@$(MAKE) --no-print-directory zoo

zoo: setup
	@tools/venv tensorflow
	@tools/venv mxnet
	@tools/install_package tensorflow mxnet
	@.venv/torch/bin/python tests/zoo/published/run_published.py --page
	@.venv/torch/bin/python tests/zoo/run_zoo.py

setup:
	@tools/bootstrap
	@tools/venv torch
	@tools/install_package

clean:
	rm -rf build
