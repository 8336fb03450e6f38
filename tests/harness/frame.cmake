# SPDX-License-Identifier: GPL-2.0-or-later
# Frames from words. A bench sends them, too, so this is included from there, without BWL_TESTS.
include_guard(GLOBAL)
add_library(bwl_frame STATIC ${CMAKE_CURRENT_LIST_DIR}/frame.c ${CMAKE_CURRENT_LIST_DIR}/frame_field.c
	${CMAKE_CURRENT_LIST_DIR}/frame_finish.c)
target_link_libraries(bwl_frame PUBLIC bwl_flags)
