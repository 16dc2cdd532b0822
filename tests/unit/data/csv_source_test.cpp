#include <gtest/gtest.h>

#include <clocale>

#include "lib/base/error.h"
#include "lib/data/source.h"
#include "tests/unit/data/data_files.h"

namespace {

using namespace stoker::data;
using namespace stoker::data::test;
using Floats = std::vector<float>;
using Labels = std::vector<std::int32_t>;
using Names = std::vector<std::string>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Csv : public testing::Test {
 protected:
  std::unique_ptr<Source> open(const std::string& content, const std::string& keys = "",
                               const OpenOptions& options = {}) {
    return open_source("csv:" + folder_.write("t.csv", content) + (keys.empty() ? "" : "?" + keys), options);
  }
  std::string error(const std::string& content, const std::string& keys = "") {
    return error_of("csv:" + folder_.write("t.csv", content) + (keys.empty() ? "" : "?" + keys));
  }
  Folder folder_;
};

TEST_F(Csv, NumbersWithAndWithoutAHeader) {
  for (const char* text : {"a,b,c\n1,2.5,0\n-3e1,+4,1\n", "1,2.5,0\n-3e1,+4,1",
                           "\xEF\xBB\xBF"
                           "1,2.5,0\r\n-3e1, 4 ,1\r\n\r\n",
                           "1,2.5,0\r-3e1,4,1\r"}) {
    const Content content = read_all(*open(text));
    EXPECT_EQ(content.x, (Floats{1, 2.5, -30, 4})) << text;
    EXPECT_EQ(content.labels, (Labels{0, 1})) << text;
  }
}

TEST_F(Csv, QuotesHideSeparatorsAndLineBreaks) {
  const auto source = open("\"x, the first\",\"na\r\nme\",label\n\"1\",2,\"a \"\"b\"\", c\"\n3,4,\"d\ne\"\n");
  EXPECT_EQ(read_all(*source).x, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(source->description().class_names, (Names{"a \"b\", c", "d\ne"}));
}

TEST_F(Csv, LabelsByNameOrNumber) {
  const std::string text = "species,width,id\nb,1.5,100\na,2.5,101\nc,3.5,102\n";
  for (const char* keys : {"label=species&ignore=id", "label=0&ignore=2", "label=0&ignore=id&header=1"}) {
    const auto source = open(text, keys);
    EXPECT_EQ(read_all(*source).x, (Floats{1.5, 2.5, 3.5})) << keys;
    EXPECT_EQ(read_all(*source).labels, (Labels{1, 0, 2}));
    EXPECT_EQ(source->description().classes, 3);
    EXPECT_EQ(source->description().class_names, (Names{"a", "b", "c"}));
  }
  EXPECT_TRUE(has(error(text, "label=nothing"), "no column 'nothing'"));
  EXPECT_TRUE(has(error(text, "label=3"), "no column '3'"));
}

TEST_F(Csv, TextLabelsAreNumberedAlikeInEveryFile) {
  const auto train = open("1,cat\n2,ant\n3,bee\n");
  const OpenOptions options{.memory_bytes = 0, .class_names = train->description().class_names};
  EXPECT_EQ(read_all(*open("1,bee\n2,cat\n", "", options)).labels, (Labels{1, 2}));
  EXPECT_THROW(open("1,dog\n", "", options), stoker::UserError);
  EXPECT_EQ(read_all(*open("1,bee\n2,cat\n", "classes=cat/bee/dog")).labels, (Labels{1, 0}));
  EXPECT_TRUE(has(error("1,bee\n2,cow\n", "classes=cat/bee"), "line 2"));
}

TEST_F(Csv, ValuesAndSeveralTargets) {
  EXPECT_EQ(read_all(*open("1,0.5\n2,1.5\n")).values, (Floats{0.5, 1.5}));
  const auto two = open("a,p,q\n1,10,20\n2,30,40\n", "label=p/q");
  EXPECT_EQ(two->description().y_shape, stoker::Shape{2});
  EXPECT_EQ(read_all(*two).values, (Floats{10, 20, 30, 40}));
  const auto none = open("1,2\n3,4\n", "label=none");
  EXPECT_EQ(none->description().y_kind, TargetKind::none);
  EXPECT_EQ(read_all(*none).x, (Floats{1, 2, 3, 4}));
}

TEST_F(Csv, Separators) {
  for (const auto& [key, c] :
       {std::pair{"tab", '\t'}, {"semicolon", ';'}, {"pipe", '|'}, {"space", ' '}, {";", ';'}}) {
    const std::string text = std::string("1") + c + "2" + c + "0\n3" + c + "4" + c + "1\n";
    EXPECT_EQ(read_all(*open(text, std::string("separator=") + key)).x, (Floats{1, 2, 3, 4})) << key;
  }
  EXPECT_EQ(read_all(*open_source(folder_.write("t.tsv", "1\t0\n"))).x, Floats{1});
  EXPECT_THROW(open("1,2\n", "separator=ab"), stoker::UserError);
}

TEST_F(Csv, WhatIsWrongIsSaidByLineAndColumn) {
  const auto said = [&](const std::string& text, const std::string& keys,
                        std::initializer_list<const char*> parts) {
    const std::string message = error(text, keys);
    for (const char* part : parts) EXPECT_TRUE(has(message, part)) << message;
  };
  said("a,b,y\n1,2,0\n3,,1\n", "", {"an empty cell", "line 3", "column 1 (b)"});
  said("a,b,y\n1,2,0\n3,\"\",1\n", "", {"an empty cell", "line 3"});
  said("a,b,y\n1,2,\n", "", {"an empty cell", "line 2", "(y)"});
  said("1,2,0\n1,nan,0\n", "", {"not finite", "line 2", "column 1"});
  said("1,2,0\n1,-inf,0\n", "", {"not finite", "line 2"});
  said("1,2,0\n1,1e39,0\n", "", {"not finite", "line 2"});
  said("1,2,0\n1,x,0\n", "", {"'x' is no number", "line 2"});
  said("1,2,0\n1,\"1,5\",0\n", "", {"'1,5' is no number", "line 2"});
  said("1,2,0\n1,2\n", "", {"2 cells", "line 2"});
  said("a,b\n\"p\nq\",r,s\n", "label=none", {"line 2"});
  said("1,2,0\n1,2,nan\n", "", {"not finite", "line 2"});
  said("1,2,0\n1,2,x\n", "", {"numbers in some lines", "line 2"});
  said("0,1,label\n1,2,0\n", "", {"say header=1"});
  said("1,x,0\n1,2,0\n", "", {"cannot tell whether line 1 is a header"});
  said("1,2,\"0\n", "", {"never closed", "line 1"});
  said("1,2,\"0\"5\n", "", {"closing quote", "line 1"});
  said("", "", {"no samples"});
  said("a,b\n", "", {"no samples"});
  said("1\n2\n", "", {"no column is left"});
  said("1\n\n2\n", "label=none", {"empty cell"});
  said("a,a,y\n1,2,0\n", "label=a", {"several columns"});
}

TEST_F(Csv, AnotherLocaleChangesNothing) {
  const std::string before = setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"})
    if (setlocale(LC_ALL, name) != nullptr) break;
  EXPECT_EQ(read_all(*open("1.5,0\n")).x, Floats{1.5});
  setlocale(LC_ALL, before.c_str());
}

TEST_F(Csv, CompressedAndLong) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + ".25," + std::to_string(i % 3) + "\n";
  const auto source = open_source(folder_.write("t.csv.gz", gzip(text)));
  const Content content = read_all(*source);
  ASSERT_EQ(content.x.size(), 20000u);
  EXPECT_EQ(content.x[19999], 19999.25f);
  EXPECT_EQ(content.labels[19999], 19999 % 3);
}

}  // namespace
