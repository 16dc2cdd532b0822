// Weights as in .keras and *.weights.h5 files: layers/<class>[_k]/vars/<i> (keras/src/saving/saving_lib.py),
// k counting the layers of a class in the order of model.layers, from 0, in every (nested) model anew.
#include <algorithm>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/keras/snake_case.h"
#include "lib/keras/weight_arrays.h"

namespace stoker::keras {
namespace {

class VarsReader {
 public:
  VarsReader(Model& model, const hdf5::File& file) : model_(model), file_(file), filler_(model) {}

  void read(const ModelTree& tree) {
    read_model(tree, "");
    filler_.finish();
  }

 private:
  void read_model(const ModelTree& tree, const std::string& group) {
    const std::string head = group.empty() ? "" : group + "/";
    std::map<std::string, std::size_t> counts;  // by class
    std::vector<std::string> in_file, in_model;
    for (const TreeLayer& layer : tree.layers) {
      const std::string name = group_class(layer);
      const std::size_t k = counts[name]++;
      const std::vector<WeightArray> arrays =
          layer.model ? std::vector<WeightArray>() : arrays_of(model_, layer);
      if (!layer.model && arrays.empty()) continue;
      const std::string its_group = find_group(head, name, k, layer.name);
      in_model.push_back(layer.name);
      in_file.push_back(file_.text_attribute(its_group + "/vars", "name").value_or(""));
      if (layer.model)
        read_model(*layer.model, its_group);
      else
        read_vars(its_group + "/vars", arrays, layer.name);
    }
    check_name_order(in_file, in_model, file_.name() + (group.empty() ? "" : ": /" + group));
  }

  std::string group_class(const TreeLayer& layer) const {
    if (layer.model) return snake_case(layer.model->class_name);
    return snake_case(layer.is_input ? "InputLayer" : model_.layers[layer.flat]->class_name);
  }

  // The k-th group of a class. Keras 2.13 and older may write _layer_checkpoint_dependencies, where a layer
  // counts twice and only the first number has a group: there it is the k-th that exists.
  std::string find_group(const std::string& head, const std::string& name, std::size_t k,
                         const std::string& layer_name) const {
    const std::string usual = head + "layers/" + name + (k == 0 ? "" : "_" + std::to_string(k));
    if (file_.is_group(usual)) return usual;
    const std::string older = head + "_layer_checkpoint_dependencies";
    if (!file_.is_group(head + "layers") && file_.is_group(older)) {
      std::vector<std::int64_t> numbers;
      for (const std::string& child : file_.children(older)) {
        if (child == name) numbers.push_back(0);
        if (!child.starts_with(name + "_")) continue;
        const auto number = parse_int(child.substr(name.size() + 1));
        if (number && *number > 0) numbers.push_back(*number);
      }
      std::sort(numbers.begin(), numbers.end());
      if (k < numbers.size())
        return older + "/" + name + (numbers[k] == 0 ? "" : "_" + std::to_string(numbers[k]));
    }
    throw UserError("the file has no weights of layer " + layer_name, file_.name() + ": /" + usual,
                    "use weights saved from the same architecture");
  }

  void read_vars(const std::string& group, const std::vector<WeightArray>& arrays,
                 const std::string& layer_name) {
    const std::size_t count = file_.is_group(group) ? file_.children(group).size() : 0;
    if (count != arrays.size())
      throw UserError("the group has " + std::to_string(count) + " arrays, layer " + layer_name + " has " +
                          std::to_string(arrays.size()),
                      file_.name() + ": /" + group, "use weights saved from the same architecture");
    for (std::size_t i = 0; i < arrays.size(); ++i)
      filler_.put(arrays[i], read_array(file_, group + "/" + std::to_string(i), arrays[i].shape));
  }

  Model& model_;
  const hdf5::File& file_;
  WeightFiller filler_;
};

}  // namespace

bool read_vars_weights(Model& model, const ModelTree& tree, const hdf5::File& file) {
  const std::vector<std::string> datasets = file.datasets();
  const bool any = std::any_of(datasets.begin(), datasets.end(), [](const std::string& path) {
    return !path.starts_with("optimizer/") && path.find("/vars/") != std::string::npos;
  });
  if (!any) return false;
  VarsReader(model, file).read(tree);
  return true;
}

}  // namespace stoker::keras
