# SPDX-License-Identifier: GPL-2.0-or-later
# bwl_bpf_object(NAME source.bpf.c [DEFINES…])
# clang -> strip -> bpftool gen skeleton; gives an INTERFACE library NAME_skel with NAME.skel.h.
function(bwl_bpf_object name source)
	set(dir ${CMAKE_CURRENT_BINARY_DIR})
	set(defs ${ARGN})
	list(TRANSFORM defs PREPEND -D)
	set(src ${CMAKE_CURRENT_SOURCE_DIR}/${source})
	add_custom_command(OUTPUT ${dir}/${name}.bpf.o
		COMMAND ${BWL_CLANG} ${BWL_BPF_CFLAGS} ${defs} -MD -MT ${name}.bpf.o
			-MF ${dir}/${name}.bpf.d -c ${src} -o ${dir}/${name}.bpf.o
		COMMAND ${BWL_STRIP} -g ${dir}/${name}.bpf.o
		DEPENDS ${src} DEPFILE ${dir}/${name}.bpf.d VERBATIM
		COMMENT "BPF ${name}.bpf.o")
	add_custom_command(OUTPUT ${dir}/${name}.skel.h
		COMMAND ${BWL_BPFTOOL} gen skeleton ${dir}/${name}.bpf.o name ${name}
			> ${dir}/${name}.skel.h.tmp
		COMMAND ${CMAKE_COMMAND} -E rename ${dir}/${name}.skel.h.tmp ${dir}/${name}.skel.h
		DEPENDS ${dir}/${name}.bpf.o VERBATIM COMMENT "skeleton ${name}.skel.h")
	add_custom_target(${name}_gen DEPENDS ${dir}/${name}.skel.h)
	add_library(${name}_skel INTERFACE)
	add_dependencies(${name}_skel ${name}_gen)
	target_include_directories(${name}_skel SYSTEM INTERFACE ${dir})
	target_link_libraries(${name}_skel INTERFACE PkgConfig::LIBBPF)
endfunction()
