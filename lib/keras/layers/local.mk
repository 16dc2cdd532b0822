# Keras layers: the table, reading and writing of configs, weights' initialisers, expansion into ops; built-in
# models.
noinst_LIBRARIES += lib/keras/layers/libkeraslayers.a
lib_keras_layers_libkeraslayers_a_SOURCES = \
	%D%/activation_function.h %D%/activation_function.cpp \
	%D%/activation_layers.h %D%/activation_layers.cpp \
	%D%/batch_normalization_layer.cpp \
	%D%/builtin_families.h \
	%D%/builtin_models.cpp \
	%D%/builtin_residual.cpp \
	%D%/builtin_writer.h %D%/builtin_writer.cpp \
	%D%/config_reader.h %D%/config_reader.cpp \
	%D%/convolution_layers.cpp \
	%D%/dense_layer.cpp \
	%D%/dropout_layer.cpp \
	%D%/image_window.h %D%/image_window.cpp \
	%D%/initializers.h %D%/initializers.cpp \
	%D%/input_layer.cpp \
	%D%/layer_base.h %D%/layer_base.cpp \
	%D%/layer_classes.h \
	%D%/layer_table.h %D%/layer_table.cpp \
	%D%/merge_layers.cpp \
	%D%/pooling_layers.cpp \
	%D%/preprocessing_layers.h %D%/preprocessing_layers.cpp \
	%D%/reshaping_layers.cpp \
	%D%/weight_options.h %D%/weight_options.cpp
KERAS_LAYERS_LIBS = lib/keras/layers/libkeraslayers.a

if HAVE_GTEST
check_PROGRAMS += tests/unit/keras_layers/keras_layers_test
TESTS += tests/unit/keras_layers/keras_layers_test
tests_unit_keras_layers_keras_layers_test_SOURCES = \
	$(GRAPH_REFERENCE_SOURCES) \
	tests/unit/keras_layers/builtin_models_test.cpp \
	tests/unit/keras_layers/initializers_test.cpp \
	tests/unit/keras_layers/layer_build_test.cpp \
	tests/unit/keras_layers/layer_config_test.cpp \
	tests/unit/keras_layers/layer_golden_test.cpp \
	tests/unit/keras_layers/layer_testing.h
tests_unit_keras_layers_keras_layers_test_LDADD = $(KERAS_LAYERS_LIBS) $(GRAPH_LIBS) $(TENSOR_LIBS) $(BASE_LIBS) \
	$(GTEST_MAIN_LIBS) $(BASE_LINK)
endif
EXTRA_DIST += \
	tests/unit/keras_layers/fixtures/layer_cases.py \
	tests/unit/keras_layers/fixtures/layers.json \
	tests/unit/keras_layers/fixtures/make_layer_fixtures.py \
	tests/unit/keras_layers/fixtures/open_layers.py
