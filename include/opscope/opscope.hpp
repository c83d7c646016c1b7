// SPDX-License-Identifier: Apache-2.0
// C++ twins of opscope.h: the same calls, scoped by objects.
#ifndef OPSCOPE_OPSCOPE_HPP
#define OPSCOPE_OPSCOPE_HPP

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "opscope/opscope.h"

namespace opscope
{

/// A zone for as long as the object lives, with a name known at run time:
///     opscope::Zone zone(layer.name());
/// (OPSCOPE_ZONE("literal") costs less: its name is looked up once.)
class Zone
{
  public:
    explicit Zone(const char *name) : open_(opscope_is_recording() != 0)
    {
#ifndef OPSCOPE_DISABLE
        open_ = open_ && opscope_zone_begin_named_(name, name ? std::strlen(name) : 0, 0) != 0;
#else
        (void)name;
#endif
    }
    explicit Zone(const std::string &name) : Zone(name.c_str())
    {
    }
    Zone(const Zone &) = delete;
    Zone &operator=(const Zone &) = delete;
    ~Zone()
    {
        if (open_)
            opscope_zone_end();
    }
    Zone &text(const std::string &text)
    {
        if (open_)
            opscope_zone_text(text.c_str());
        return *this;
    }
    Zone &value(std::uint64_t value)
    {
        if (open_)
            opscope_zone_value(value);
        return *this;
    }
    Zone &colour(std::uint32_t rgb)
    {
        if (open_)
            opscope_zone_colour(rgb);
        return *this;
    }

  private:
    bool open_;
};

/// One turn of a coroutine, fiber or task, for as long as the object lives: see opscope_task_begin.
class Task
{
  public:
    explicit Task(const std::string &name, std::uint64_t number = 0) : open_(opscope_is_recording() != 0)
    {
        if (open_)
            opscope_task_begin(name.c_str(), number);
    }
    Task(const Task &) = delete;
    Task &operator=(const Task &) = delete;
    ~Task()
    {
        if (open_)
            opscope_task_end();
    }

  private:
    bool open_;
};

/// One tensor of an op.
struct Tensor {
    std::vector<std::int64_t> shape;
    std::string dtype, layout, memory;
    std::vector<std::int64_t> padded_shape; // empty = same as shape
};

/// One call of an accelerator operation, for as long as the object lives.
class Op
{
  public:
    explicit Op(const std::string &name, opscope_op_type type = OPSCOPE_OP_DEVICE, std::uint32_t device = 0)
        : open_(opscope_has_session() != 0), call_(opscope_op_begin(name.c_str(), type, device))
    {
    }
    Op(const Op &) = delete;
    Op &operator=(const Op &) = delete;
    ~Op()
    {
        if (open_)
            opscope_op_end();
    }
    Op &input(const Tensor &tensor)
    {
        return add(tensor, opscope_op_input);
    }
    Op &output(const Tensor &tensor)
    {
        return add(tensor, opscope_op_output);
    }
    Op &attribute(const std::string &key, const std::string &value)
    {
        if (open_)
            opscope_op_attribute(key.c_str(), value.c_str());
        return *this;
    }
    std::uint64_t call() const
    {
        return call_;
    }

  private:
    Op &add(const Tensor &tensor, void (*give)(const opscope_tensor *))
    {
        if (open_) {
            opscope_tensor t = {};
            t.struct_size = static_cast<std::uint32_t>(sizeof t);
            t.rank = static_cast<std::uint32_t>(tensor.shape.size());
            t.shape = tensor.shape.data();
            t.padded_shape = tensor.padded_shape.size() == tensor.shape.size() && !tensor.shape.empty()
                                 ? tensor.padded_shape.data()
                                 : nullptr;
            t.dtype = tensor.dtype.c_str();
            t.layout = tensor.layout.c_str();
            t.memory = tensor.memory.c_str();
            give(&t);
        }
        return *this;
    }

    bool open_;
    std::uint64_t call_;
};

} // namespace opscope

#endif
