// SPDX-License-Identifier: Apache-2.0
// tracy::ScopedZone, recorded by opscope. Included by tracy/Tracy.hpp.
#ifndef OPSCOPE_COMPAT_TRACY_SCOPED_HPP
#define OPSCOPE_COMPAT_TRACY_SCOPED_HPP

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../recorder.h"

namespace tracy
{

struct SourceLocationData {
    const char *name;
    const char *function;
    const char *file;
    uint32_t line;
    uint32_t color;
};

/// A zone that was begun, or none: what can be said about it, and its end.
class OpenZone
{
  public:
    OpenZone(const OpenZone &) = delete;
    OpenZone(OpenZone &&) = delete;
    OpenZone &operator=(const OpenZone &) = delete;
    OpenZone &operator=(OpenZone &&) = delete;
    __attribute__((always_inline)) ~OpenZone()
    {
        if (open_)
            opscope_zone_leave_();
    }

    void Text(const char *text, std::size_t size)
    {
        if (open_)
            opscope_zone_text_(text, size);
    }
    __attribute__((format(printf, 2, 3))) void TextFmt(const char *format, ...)
    {
        if (!open_)
            return;
        std::va_list values;
        va_start(values, format);
        opscope_tracy_zone_format_(format, values);
        va_end(values);
    }
    /// A zone is called as its place is; a name of one call is kept as a text of that zone.
    void Name(const char *text, std::size_t size)
    {
        Text(text, size);
    }
    __attribute__((format(printf, 2, 3))) void NameFmt(const char *format, ...)
    {
        if (!open_)
            return;
        std::va_list values;
        va_start(values, format);
        opscope_tracy_zone_format_(format, values);
        va_end(values);
    }
    void Color(uint32_t rgb)
    {
        if (open_)
            opscope_zone_colour_(rgb);
    }
    void Value(uint64_t value)
    {
        if (open_)
            opscope_zone_value_(value);
    }
    bool IsActive() const
    {
        return open_ != 0;
    }

  protected:
    __attribute__((always_inline)) explicit OpenZone(int open) : open_(open)
    {
    }

  private:
    const int open_;
};

/// A zone for as long as the object lives. The macros keep what the recorder learned of the place in a static object,
/// so that theirs cost what OPSCOPE_ZONE costs; places of the other kinds are looked up each time.
class ScopedZone : public OpenZone
{
  public:
    __attribute__((always_inline)) ScopedZone(opscope_site *site, bool is_active)
        : OpenZone(is_active ? opscope_zone_enter_(site) : 0)
    {
    }
    ScopedZone(uint32_t line, const char *file, const char *function, const char *name, uint32_t color,
               bool is_active)
        : OpenZone(is_active ? opscope_tracy_zone_begin_(line, file, function, name, color) : 0)
    {
    }
    explicit ScopedZone(const SourceLocationData *place, bool is_active = true)
        : OpenZone(is_active ? opscope_tracy_zone_begin_(place->line, place->file, place->function,
                                                         place->name, place->color)
                             : 0)
    {
    }
    ScopedZone(const SourceLocationData *place, int32_t /* depth */, bool is_active)
        : ScopedZone(place, is_active)
    {
    }
    /// Before zones of this kind had colours, the last argument was another.
    template <class B, class = typename std::enable_if<std::is_same<B, bool>::value>::type>
    ScopedZone(uint32_t line, const char *file, std::size_t file_size, const char *function,
               std::size_t function_size, const char *name, std::size_t name_size, B is_active)
        : ScopedZone(line, file, file_size, function, function_size, name, name_size, 0u, -1, is_active)
    {
    }
    ScopedZone(uint32_t line, const char *file, std::size_t file_size, const char *function,
               std::size_t function_size, const char *name, std::size_t name_size, uint32_t color = 0,
               int32_t /* depth */ = -1, bool is_active = true)
        : OpenZone(is_active ? opscope_tracy_zone_begin_copy_(line, file, file_size, function, function_size,
                                                              name, name_size, color)
                             : 0)
    {
    }
};

} // namespace tracy

#endif
