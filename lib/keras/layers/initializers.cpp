#include "lib/keras/layers/initializers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "lib/base/philox.h"
#include "lib/base/text.h"

namespace stoker::keras {

using nlohmann::json;

namespace {

struct InitializerEntry {
  const char* name;
  bool random;
  const char* defaults;    // JSON: what config may hold besides the seed
  const char* scaling;     // JSON: for those that are VarianceScaling with fixed options
  const char* other = "";  // another name
};

const InitializerEntry kInitializers[] = {
    {"Zeros", false, "{}", "", "zero"},
    {"Ones", false, "{}", "", "one"},
    {"Constant", false, R"({"value": 0.0})", ""},
    {"RandomNormal", true, R"({"mean": 0.0, "stddev": 0.05})", "", "normal"},
    {"RandomUniform", true, R"({"minval": -0.05, "maxval": 0.05})", "", "uniform"},
    {"TruncatedNormal", true, R"({"mean": 0.0, "stddev": 0.05})", ""},
    {"VarianceScaling", true, R"({"scale": 1.0, "mode": "fan_in", "distribution": "truncated_normal"})", ""},
    {"GlorotUniform", true, "{}", R"({"scale": 1.0, "mode": "fan_avg", "distribution": "uniform"})"},
    {"GlorotNormal", true, "{}", R"({"scale": 1.0, "mode": "fan_avg", "distribution": "truncated_normal"})"},
    {"HeUniform", true, "{}", R"({"scale": 2.0, "mode": "fan_in", "distribution": "uniform"})"},
    {"HeNormal", true, "{}", R"({"scale": 2.0, "mode": "fan_in", "distribution": "truncated_normal"})"},
    {"LecunUniform", true, "{}", R"({"scale": 1.0, "mode": "fan_in", "distribution": "uniform"})"},
    {"LecunNormal", true, "{}", R"({"scale": 1.0, "mode": "fan_in", "distribution": "truncated_normal"})"},
    {"Orthogonal", true, R"({"gain": 1.0})", "", "orthogonalinitializer"},
    {"Identity", false, R"({"gain": 1.0})", "", "identityinitializer"},
};

const InitializerEntry* find_entry(std::string_view name) {
  for (const InitializerEntry& entry : kInitializers) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

// Independent draws by element: element i is word i % 4 of block i / 4. `attempt` gives fresh ones, for
// rejection.
class Stream {
 public:
  explicit Stream(std::uint64_t key) : key_(key) {}

  float uniform(std::size_t i) const { return uniform_from_bits(block(0, i).v[i % 4]); }

  // Box and Muller: words (0, 1) and (2, 3) give two normal numbers each.
  double normal(std::size_t i, std::uint64_t attempt = 0) const {
    const Philox4 x = block(attempt, i);
    const std::size_t pair = (i % 4) / 2 * 2;
    const double u = (static_cast<double>(x.v[pair]) + 0.5) * 0x1p-32;  // in (0, 1): its log is finite
    const double angle = 2.0 * std::numbers::pi * 0x1p-32 * static_cast<double>(x.v[pair + 1]);
    const double radius = std::sqrt(-2.0 * std::log(u));
    return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
  }

  double truncated_normal(std::size_t i) const {
    for (std::uint64_t attempt = 0;; ++attempt) {
      const double x = normal(i, attempt);
      if (std::abs(x) <= 2.0) return x;
    }
  }

 private:
  Philox4 block(std::uint64_t attempt, std::size_t i) const { return philox(key_, attempt, i / 4); }

  std::uint64_t key_;
};

struct Fans {
  double in = 1, out = 1;
};

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  const double last = static_cast<double>(shape.back());
  if (shape.rank() == 1) return {last, last};
  double field = 1;
  for (std::size_t a = 0; a + 2 < shape.rank(); ++a) field *= static_cast<double>(shape[a]);
  return {field * static_cast<double>(shape[shape.rank() - 2]), field * last};
}

void fill_variance_scaling(std::vector<float>& w, const Shape& shape, const json& config,
                           const Stream& stream) {
  const Fans fans = fans_of(shape);
  const std::string mode = config.at("mode").get<std::string>();
  const double n = mode == "fan_in" ? fans.in : mode == "fan_out" ? fans.out : (fans.in + fans.out) / 2;
  const double variance = config.at("scale").get<double>() / std::max(1.0, n);
  const std::string distribution = config.at("distribution").get<std::string>();
  if (distribution == "uniform") {
    const double limit = std::sqrt(3.0 * variance);
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = static_cast<float>(limit * (2.0 * stream.uniform(i) - 1.0));
  } else if (distribution == "untruncated_normal") {
    const double sigma = std::sqrt(variance);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(sigma * stream.normal(i));
  } else {
    // The standard deviation of a standard normal cut at ±2.
    const double sigma = std::sqrt(variance) / 0.87962566103423978;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(sigma * stream.truncated_normal(i));
  }
}

// The rows of a (rows × columns, rows ≤ columns) normal matrix made orthonormal by Gram and Schmidt, twice
// for accuracy. It is the Q of a QR decomposition whose R has a positive diagonal, hence uniformly
// distributed.
void orthonormalize(std::vector<double>& a, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) {
    double* row = &a[r * columns];
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t q = 0; q < r; ++q) {
        const double* other = &a[q * columns];
        double dot = 0;
        for (std::size_t c = 0; c < columns; ++c) dot += row[c] * other[c];
        for (std::size_t c = 0; c < columns; ++c) row[c] -= dot * other[c];
      }
    }
    double square = 0;
    for (std::size_t c = 0; c < columns; ++c) square += row[c] * row[c];
    for (std::size_t c = 0; c < columns; ++c) row[c] /= std::sqrt(square);
  }
}

// As a matrix of the last axis against all others: orthonormal rows or columns, whichever are fewer.
void fill_orthogonal(std::vector<float>& w, const Shape& shape, double gain, const Stream& stream) {
  const std::size_t out = static_cast<std::size_t>(shape.back());
  if (w.empty()) return;
  const std::size_t in = w.size() / out;
  std::vector<double> a(w.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = stream.normal(i);
  const std::size_t rows = std::min(in, out), columns = std::max(in, out);
  orthonormalize(a, rows, columns);
  for (std::size_t i = 0; i < in; ++i) {
    for (std::size_t o = 0; o < out; ++o) {
      w[i * out + o] = static_cast<float>(gain * (in < out ? a[i * columns + o] : a[o * columns + i]));
    }
  }
}

}  // namespace

std::optional<std::string> initializer_name(std::string_view spelling) {
  std::string text = lower(spelling);
  std::erase(text, '_');
  for (const InitializerEntry& entry : kInitializers) {
    if (text == lower(entry.name) || text == entry.other) return entry.name;
  }
  return {};
}

json default_initializer_config(const std::string& name) {
  const InitializerEntry* entry = find_entry(name);
  return entry == nullptr ? json::object() : json::parse(entry->defaults);
}

bool is_random(const std::string& name) {
  const InitializerEntry* entry = find_entry(name);
  return entry != nullptr && entry->random;
}

void check_initializer(const Initializer& initializer, const ConfigReader& reader, const std::string& key) {
  const auto one_of = [](const json& value, std::initializer_list<const char*> allowed) {
    return std::any_of(allowed.begin(), allowed.end(), [&](const char* a) { return value == a; });
  };
  for (const auto& [field, value] : initializer.config.items()) {
    const std::string path = key + "." + field;
    if (field == "mode") {
      if (!one_of(value, {"fan_in", "fan_out", "fan_avg"})) {
        reader.refuse(path, value, "use fan_in, fan_out or fan_avg");
      }
    } else if (field == "distribution") {
      if (!one_of(value, {"uniform", "normal", "truncated_normal", "untruncated_normal"})) {
        reader.refuse(path, value, "use uniform, truncated_normal or untruncated_normal");
      }
    } else if (!value.is_number() || !std::isfinite(value.get<double>())) {
      reader.refuse(path, value, "give a finite number");
    } else if ((field == "stddev" || field == "scale") && value.get<double>() < 0) {
      reader.refuse(path, value, "give a number of at least 0");
    }
  }
}

std::vector<float> initialize(const Initializer& initializer, const Shape& shape, std::uint64_t seed,
                              std::uint64_t key) {
  std::vector<float> w(static_cast<std::size_t>(shape.elements()), 0.0f);
  const Stream stream(mix_key(mix_key(seed, 0x57656967687473ull), key));  // "Weights"
  const std::string& name = initializer.name;
  const InitializerEntry* entry = find_entry(name);
  const auto number = [&](const char* field) { return initializer.config.at(field).get<double>(); };
  if (entry == nullptr) throw std::logic_error("initialize: unknown initializer " + name);
  if (std::strlen(entry->scaling) > 0) {
    fill_variance_scaling(w, shape, json::parse(entry->scaling), stream);
  } else if (name == "VarianceScaling") {
    fill_variance_scaling(w, shape, initializer.config, stream);
  } else if (name == "Ones" || name == "Constant") {
    std::fill(w.begin(), w.end(), name == "Ones" ? 1.0f : static_cast<float>(number("value")));
  } else if (name == "RandomUniform") {
    const double low = number("minval"), span = number("maxval") - low;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(low + span * stream.uniform(i));
  } else if (name == "RandomNormal" || name == "TruncatedNormal") {
    const double mean = number("mean"), stddev = number("stddev");
    const bool cut = name == "TruncatedNormal";
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] = static_cast<float>(mean + stddev * (cut ? stream.truncated_normal(i) : stream.normal(i)));
    }
  } else if (name == "Orthogonal") {
    fill_orthogonal(w, shape, number("gain"), stream);
  } else if (name == "Identity") {
    for (std::int64_t i = 0; i < std::min(shape[0], shape[1]); ++i) {
      w[static_cast<std::size_t>(i * shape[1] + i)] = static_cast<float>(number("gain"));
    }
  }
  return w;
}

}  // namespace stoker::keras
