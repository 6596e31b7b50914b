# SPDX-License-Identifier: MIT
"""Recipe for Spack: `spack dev-build -d FOLDER auger@0.1.0` builds the sources in FOLDER; in a
repository of recipes it takes auger-VERSION.tar.gz from the current folder."""

import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:
    pass  # Spack before 1.0 has it in spack.package


class Auger(MesonPackage):
    """Profiler for programs, machines and batch jobs: CPU, waiting, memory, system calls, stages; a
    cache for start-up storms, and moving the open files of a running job."""

    manual_download = True
    url = f"file://{os.getcwd()}/auger-0.1.0.tar.gz"

    license("MIT")

    version("0.1.0")

    variant("bpf", default=False, description="Count inside of the kernel (bpftool is the system's)")
    variant("disassembly", default=True, description="Instructions in auger annotate")
    variant("docs", default=False, description="Man pages (scdoc is the system's)")
    variant("fortran", default=False, description="Stages of Fortran programs")
    variant("fuse", default=True, description="The commands control and cache")
    variant("ofi", default=False, description="Nodes of the cache talk by libfabric")
    variant("overlay", default=True, description="The nodes of a job serve the cache together")
    variant("pmix", default=False, description="Nodes of the cache meet by PMIx")
    variant("python", default=True, description="The package auger for Python")
    variant("top", default=True, description="The screen of auger top")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")

    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("xz")
    depends_on("bzip2")
    depends_on("libdeflate")
    depends_on("capstone", when="+disassembly")
    depends_on("libbpf@1.0:", when="+bpf")
    depends_on("llvm+clang", when="+bpf", type="build")
    depends_on("libfuse@3.10:", when="+fuse")
    depends_on("ncurses", when="+top")
    depends_on("openssl", when="+overlay")
    depends_on("pmix", when="+pmix")
    depends_on("libfabric@1.9:", when="+ofi")
    depends_on("fortran", when="+fortran", type="build")
    depends_on("python@3.9:", when="+python", type=("build", "link", "run"))

    conflicts("platform=darwin", msg="auger is for Linux")
    conflicts("platform=windows", msg="auger is for Linux")
    extends("python", when="+python")

    def meson_args(self):
        features = ["bpf", "disassembly", "docs", "fortran", "fuse", "ofi", "overlay", "pmix", "python", "top"]
        args = [f"-D{name}={'enabled' if self.spec.satisfies('+' + name) else 'disabled'}" for name in features]
        if self.spec.satisfies("+python"):
            args += [f"-Dpython_program={python.path}", f"-Dpython_dir={python_platlib}"]
        return args

    def setup_run_environment(self, env):
        env.prepend_path("MANPATH", self.prefix.share.man)
