#include "lib/data/data_spec.h"

#include <gtest/gtest.h>

#include "lib/base/error.h"
#include "lib/data/formats.h"
#include "tests/unit/data/data_files.h"

namespace {

using namespace stoker::data;
using stoker::UserError;
using Paths = std::vector<std::string>;

DataSpec parse(const std::string& text) { return parse_data_spec(text, kinds()); }

TEST(DataSpec, KindPathsAndKeys) {
  const DataSpec spec = parse("idx:a.gz,b.gz?scale=1/255&mean=0.5");
  EXPECT_EQ(spec.kind, "idx");
  EXPECT_EQ(spec.paths, (Paths{"a.gz", "b.gz"}));
  EXPECT_EQ(spec.get("scale"), "1/255");
  EXPECT_EQ(spec.get("mean"), "0.5");
  EXPECT_EQ(spec.get("std"), std::nullopt);
}

TEST(DataSpec, ABarePath) {
  const DataSpec spec = parse("folder/digits.h5");
  EXPECT_EQ(spec.kind, "");
  EXPECT_EQ(spec.paths, (Paths{"folder/digits.h5"}));
  EXPECT_EQ(parse("digits.h5?x=a").get("x"), "a");
}

TEST(DataSpec, AnExistingPathIsItselfWhateverItsCharacters) {
  const test::Folder folder;
  for (const char* name : {"a,b.csv", "what?x=1.csv", "npz:odd.csv", "x:y.csv"}) {
    const std::string path = folder.write(name, "");
    EXPECT_EQ(parse(path).paths, Paths{path});
    EXPECT_EQ(parse(path).kind, "");
    EXPECT_EQ(parse("csv:" + path + "?header=1").paths, Paths{path});
    EXPECT_EQ(parse("csv:" + path + "?header=1").get("header"), "1");
  }
}

TEST(DataSpec, WhatIsWrong) {
  for (const char* bad : {"", "csv:", "idx:a,,b", "csv:a?header", "csv:a?=1", "csv:a?x=1&x=2", "tfrecords:a"})
    EXPECT_THROW(parse(bad), UserError) << bad;
}

TEST(DataSpec, NumbersAndLists) {
  const DataSpec spec = parse("csv:a?scale=1/4&mean=0.5/-1e-3&shape=28x28x1&a=x&b=1/0&c=nan&d=0x2&e=");
  EXPECT_EQ(parse_fraction(spec, "scale", 1), 0.25);
  EXPECT_EQ(parse_fraction(spec, "offset", 7), 7);
  EXPECT_EQ(parse_number_list(spec, "mean"), (std::vector<double>{0.5, -1e-3}));
  EXPECT_EQ(parse_dimensions(spec, "shape"), (std::vector<std::int64_t>{28, 28, 1}));
  for (const char* key : {"a", "b", "c", "e"}) EXPECT_THROW(parse_fraction(spec, key, 1), UserError) << key;
  for (const char* key : {"a", "c", "e"}) EXPECT_THROW(parse_number_list(spec, key), UserError) << key;
  for (const char* key : {"a", "b", "d", "e"}) EXPECT_THROW(parse_dimensions(spec, key), UserError) << key;
  EXPECT_THROW(parse_choice(spec, "a", {"chw", "hwc"}, "hwc"), UserError);
}

TEST(DataSpec, UnknownKeysListTheKnownOnes) {
  const test::Folder folder;
  const std::string message = test::error_of("csv:" + folder.write("a.csv", "1,2\n") + "?labels=0");
  EXPECT_NE(message.find("unknown key 'labels'"), std::string::npos) << message;
  EXPECT_NE(message.find("separator"), std::string::npos) << message;
  EXPECT_NE(message.find("scale"), std::string::npos) << message;
}

}  // namespace
