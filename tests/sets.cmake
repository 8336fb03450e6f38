# SPDX-License-Identifier: GPL-2.0-or-later
# Sets of tests: tests/sets.txt says which test is in which, and what it costs. A ctest label is made of it: core, drawn, all,
# or slice_K for a test of the rest.
set(sets ${CMAKE_CURRENT_LIST_DIR}/sets.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sets} ${CMAKE_CURRENT_LIST_DIR}/harness/slices)
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/harness/slices ${sets} OUTPUT_VARIABLE lines
	OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" lines "${lines}")
foreach(line ${lines})
	string(REPLACE " " ";" line "${line}") # test, set, cost
	list(GET line 0 test)
	list(GET line 1 BWL_SET_${test})
	list(GET line 2 BWL_COST_${test})
	list(APPEND BWL_SETS_NAMED ${test})
endforeach()

# Rungs of which each test is in the core, unless sets.txt has a line for it.
set(BWL_CORE_RUNGS lint harness unit prog verifier fuzz)

# Labels a test with its rung and its set. ctest begins with those that cost most, so that none is left to run alone at
# the end.
function(bwl_in_set test rung)
	set(set ${BWL_SET_${test}})
	if(NOT set)
		if(NOT rung IN_LIST BWL_CORE_RUNGS)
			message(FATAL_ERROR "tests/sets.txt has no line for ${test}: its set, and its cost")
		endif()
		set(set core)
	endif()
	set_tests_properties(${test} PROPERTIES LABELS "${rung};${set}")
	if(BWL_COST_${test})
		set_tests_properties(${test} PROPERTIES COST ${BWL_COST_${test}})
	endif()
	set_property(GLOBAL APPEND PROPERTY BWL_IN_SETS ${test})
endfunction()

# At the end: a line without a test is a test that nobody runs.
function(bwl_sets_end)
	get_property(there GLOBAL PROPERTY BWL_IN_SETS)
	foreach(test ${BWL_SETS_NAMED})
		if(NOT test IN_LIST there)
			message(FATAL_ERROR "tests/sets.txt names ${test}, which is no test")
		endif()
	endforeach()
endfunction()
