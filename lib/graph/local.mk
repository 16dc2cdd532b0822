# The graph of ops: shapes, gradients, passes, memory plan.
noinst_LIBRARIES += lib/graph/libgraph.a
lib_graph_libgraph_a_SOURCES = \
	%D%/differentiate.cpp \
	%D%/fold_batch_norm.cpp \
	%D%/fuse_activations.cpp \
	%D%/fuse_padding.cpp \
	%D%/fuse_pool_gradients.cpp \
	%D%/gradient_context.h %D%/gradient_context.cpp \
	%D%/graph.h \
	%D%/graph_builder.cpp \
	%D%/graph_edit.h %D%/graph_edit.cpp \
	%D%/graph_queries.cpp \
	%D%/memory_plan.cpp \
	%D%/op.h \
	%D%/op_table.h %D%/op_table.cpp \
	%D%/parameter_layout.cpp \
	%D%/random.h \
	%D%/remove_dead_ops.cpp \
	%D%/ops/activation_op.cpp \
	%D%/ops/batch_norm_op.cpp \
	%D%/ops/conv2d_op.cpp \
	%D%/ops/copy_op.cpp \
	%D%/ops/element_wise_op.cpp \
	%D%/ops/loss_op.cpp \
	%D%/ops/matmul_op.cpp \
	%D%/ops/op_families.h \
	%D%/ops/pool2d_op.cpp
GRAPH_LIBS = lib/graph/libgraph.a $(TENSOR_LIBS)

# The meaning of the ops as plain loops; tests of backends link it too.
GRAPH_REFERENCE_SOURCES = \
	tests/unit/graph/reference_element_wise.cpp \
	tests/unit/graph/reference_interpreter.cpp tests/unit/graph/reference_interpreter.h \
	tests/unit/graph/reference_losses.cpp \
	tests/unit/graph/reference_norms.cpp \
	tests/unit/graph/reference_ops.h \
	tests/unit/graph/reference_windows.cpp

if HAVE_GTEST
check_PROGRAMS += tests/unit/graph/graph_test
TESTS += tests/unit/graph/graph_test
tests_unit_graph_graph_test_SOURCES = \
	$(GRAPH_REFERENCE_SOURCES) \
	tests/unit/graph/builder_test.cpp \
	tests/unit/graph/differentiate_test.cpp \
	tests/unit/graph/gradient_test.cpp \
	tests/unit/graph/graph_test_support.cpp tests/unit/graph/graph_test_support.h \
	tests/unit/graph/memory_plan_test.cpp \
	tests/unit/graph/passes_test.cpp \
	tests/unit/graph/reference_test.cpp
tests_unit_graph_graph_test_LDADD = $(GRAPH_LIBS) $(BASE_LIBS) $(GTEST_MAIN_LIBS) $(BASE_LINK)
endif
