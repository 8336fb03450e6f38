# SPDX-License-Identifier: GPL-2.0-or-later
# Compiler flags in one place: bwl_flags for host code, BWL_BPF_CFLAGS for BPF code.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_STANDARD_REQUIRED ON)

add_library(bwl_flags INTERFACE)
target_compile_options(bwl_flags INTERFACE -Wall -Wextra -Wshadow -Wformat-security -Werror -fno-strict-aliasing)
target_compile_definitions(bwl_flags INTERFACE _GNU_SOURCE BWL_VERSION="${PROJECT_VERSION}")
target_include_directories(bwl_flags INTERFACE ${PROJECT_SOURCE_DIR})
if(BWL_SANITIZE)
	target_compile_options(bwl_flags INTERFACE -fsanitize=address,undefined
		-fno-sanitize-recover=all -fno-omit-frame-pointer)
	target_link_options(bwl_flags INTERFACE -fsanitize=address,undefined)
endif()
if(BWL_FAST_LINK)
	include(CheckLinkerFlag)
	foreach(linker lld gold)
		check_linker_flag(C -fuse-ld=${linker} BWL_LD_${linker})
		if(BWL_LD_${linker})
			target_link_options(bwl_flags INTERFACE -fuse-ld=${linker})
			break()
		endif()
	endforeach()
endif()
# Atomic: a false way out is counted as the difference of two numbers, of which threads must not lose one. gcc is whose
# warnings are errors: nobody compiles the rest with clang.
if(BWL_COVERAGE)
	target_compile_options(bwl_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic -Wno-error)
	target_link_options(bwl_flags INTERFACE -fprofile-instr-generate)
endif()
if(BWL_FUZZ)
	target_compile_options(bwl_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# -mcpu=v3: atomic compare-and-exchange, kernel 5.12.
# A struct's members as another's own (bwl_work in bwl_ctx): -fms-extensions, as the kernel has it.
set(BWL_BPF_CFLAGS -target bpf -mcpu=v3 -O2 -g -std=gnu11 -fms-extensions -Wno-microsoft-anon-tag
	-Wall -Wextra -Wshadow -Wformat-security -Werror -Wno-unused-parameter
	-I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/maps
	-I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
