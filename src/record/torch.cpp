// SPDX-License-Identifier: Apache-2.0
// The ops of PyTorch: an observer of at::RecordFunction, loaded into a process that has torch
// (python/opscope/_torch.py). Each op of the dispatcher and of autograd is an op of the recorder, with its tensors,
// nested as they are called; ranges that the program marks (torch.profiler.record_function) are zones.
//
// It uses the C++ interface of one release of torch, so it is built for each (docs/internals/torch.md), with -DNDEBUG:
// at::RecordFunction has other members without it. It goes through the recorder's shared library, so that ops land on
// the tracks of the process's other zones.
//
// What makes it cheap: names and descriptions are known to the recorder by ids, which each thread keeps in a table by
// hash. An op that was seen before, with tensors of the same sizes, costs a hash of its name and these sizes, one
// look-up and a record of two slots; its outputs a hash and a slot. Nothing is allocated on the way. What it costs is
// mostly cache lines that torch has driven out since the last op: hence a table without gaps, of small entries, and
// what is known of an op, its inputs and its usual outputs in one of them.
#include <ATen/record_function.h>

#include <pthread.h>

#include <atomic>
#include <cctype>
#include <cstring>
#include <string>

#include "opscope/opscope.h"

namespace
{

constexpr unsigned listed_tensors = 8; // of an op with lists of tensors; of the others the sums are recorded
constexpr unsigned known_most = 8192, known_chains = 2048, open_most = 1024;
constexpr uint32_t no_device = UINT32_MAX;

// --- hashing ---

__extension__ typedef unsigned __int128 wide;

uint64_t mix(uint64_t hash, uint64_t value)
{
    wide product =
        static_cast<wide>(hash ^ value ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ (value << 1);
}

uint64_t hash_text(uint64_t hash, const char *text, size_t length)
{
    for (; length > 8; text += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = mix(hash, word);
    }
    uint64_t last = 0;
    for (size_t i = 0; i < length; i++)
        last = last << 8 | static_cast<unsigned char>(text[i]);
    return mix(mix(hash, last), length);
}

// Tensors whose sizes must not be asked for: that would call Python, or throw.
bool is_opaque(const c10::TensorImpl *tensor)
{
    constexpr c10::DispatchKeySet keys =
        c10::DispatchKeySet(c10::DispatchKey::Python) | c10::DispatchKeySet(c10::DispatchKey::NestedTensor);
    return tensor->key_set().has_any(keys) || tensor->layout() != c10::kStrided ||
           tensor->has_symbolic_sizes_strides();
}

bool is_elsewhere(c10::Device device)
{
    return !device.is_cpu() && !device.is_meta();
}

uint64_t device_word(c10::Device device)
{
    return static_cast<uint64_t>(device.type()) << 24 |
           static_cast<uint64_t>(static_cast<uint8_t>(device.index())) << 32;
}

uint64_t hash_tensor(uint64_t hash, const at::Tensor &value)
{
    const c10::TensorImpl *tensor = value.unsafeGetTensorImpl();
    if (!value.defined())
        return mix(hash, 1);
    hash = mix(hash, static_cast<uint64_t>(c10::typeMetaToScalarType(tensor->dtype())) << 16 |
                         device_word(tensor->device()) | 2);
    if (is_opaque(tensor))
        return mix(hash, 3);
    // Products that do not wait for one another: a chain of mix() takes 4 ns for each dimension.
    c10::IntArrayRef sizes = tensor->sizes(), strides = tensor->strides();
    uint64_t sum = sizes.size(), key = UINT64_C(0xa0761d6478bd642f);
    for (size_t i = 0; i < sizes.size(); i++, key += UINT64_C(0xe7037ed1a0b428db)) {
        wide product = static_cast<wide>(static_cast<uint64_t>(sizes[i]) ^ key) *
                       (static_cast<uint64_t>(strides[i]) ^ ~key);
        sum += static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }
    return mix(hash, sum);
}

uint64_t hash_scalar(uint64_t hash, const c10::IValue &value)
{
    if (value.isBool())
        return mix(hash, value.toBool() ? 5 : 4);
    return value.isInt() ? mix(hash, static_cast<uint64_t>(value.toInt())) : mix(hash, 6);
}

// What is said of a list's tensors beyond those that are listed: Description::list.
struct Sums {
    uint64_t count, elements, bytes;

    void add(const c10::TensorImpl *tensor)
    {
        uint64_t own = is_opaque(tensor) ? 0 : static_cast<uint64_t>(tensor->numel());
        count++;
        elements += own;
        bytes += own * tensor->itemsize();
    }
};

uint64_t hash_list(uint64_t hash, c10::ArrayRef<c10::IValue> items, bool has_scalars, unsigned *listed)
{
    Sums rest = {0, 0, 0};
    uint64_t where = 0; // the first device of the rest
    for (const c10::IValue &item : items) {
        bool is_tensor = item.isTensor();
        if (has_scalars)
            hash = is_tensor ? mix(hash, 10) : hash_scalar(hash, item);
        if (!is_tensor || !item.toTensor().defined())
            continue;
        const c10::TensorImpl *tensor = item.toTensor().unsafeGetTensorImpl();
        if (*listed < listed_tensors) {
            ++*listed;
            hash = hash_tensor(hash, item.toTensor());
            continue;
        }
        rest.add(tensor);
        c10::Device device = tensor->device();
        if (!where && is_elsewhere(device))
            where = device_word(device) | 1;
    }
    return rest.count ? mix(mix(mix(mix(hash, rest.count), rest.elements), rest.bytes), where) : hash;
}

uint64_t hash_values(uint64_t hash, c10::ArrayRef<const c10::IValue> values, bool has_scalars)
{
    unsigned listed = 0;
    for (const c10::IValue &value : values) {
        if (value.isTensor()) {
            listed += value.toTensor().defined();
            hash = hash_tensor(hash, value.toTensor());
        } else if (value.isList()) {
            hash = hash_list(mix(hash, 7), value.toListRef(), has_scalars, &listed);
        } else if (value.isDevice()) { // of an op that makes a tensor
            c10::Device device = value.toDevice();
            hash = mix(hash, device_word(device) | 8);
        } else {
            hash = has_scalars ? hash_scalar(hash, value) : mix(hash, 9);
        }
    }
    return hash;
}

// --- descriptions ---

std::string type_name(c10::ScalarType type)
{
    switch (type) {
    case c10::ScalarType::Float:
        return "FLOAT32";
    case c10::ScalarType::Double:
        return "FLOAT64";
    case c10::ScalarType::Half:
        return "FLOAT16";
    case c10::ScalarType::Long:
        return "INT64";
    case c10::ScalarType::Int:
        return "INT32";
    case c10::ScalarType::Short:
        return "INT16";
    case c10::ScalarType::Char:
        return "INT8";
    case c10::ScalarType::Byte:
        return "UINT8";
    case c10::ScalarType::Bool:
        return "BOOL8";
    case c10::ScalarType::ComplexFloat:
        return "COMPLEX64";
    case c10::ScalarType::ComplexDouble:
        return "COMPLEX128";
    default:
        break;
    }
    std::string name = c10::toString(type); // BFloat16, Float8_e4m3fn, QInt8 ...
    for (char &letter : name)
        letter = static_cast<char>(toupper(static_cast<unsigned char>(letter)));
    return name;
}

std::string join(c10::IntArrayRef sizes)
{
    std::string text;
    for (size_t i = 0; i < sizes.size(); i++)
        text += (i ? "x" : "") + std::to_string(sizes[i]);
    return text;
}

std::string memory_name(c10::Device device)
{
    std::string name = c10::DeviceTypeName(device.type());
    if (!device.is_cpu() && device.index() >= 0)
        name += std::to_string(device.index());
    return name + "_DRAM";
}

struct Description {
    std::string text; // for the recorder: opscope_known_op
    char role;
    unsigned tensors = 0;
    std::string lists, scalars;
    bool has_list = false, is_on_device = false;
    uint32_t device = no_device;

    explicit Description(char part_role) : role(part_role)
    {
    }

    void part(char part_role, const std::string &value)
    {
        text += part_role;
        text += value;
        text += '\0';
    }

    void take_device(c10::Device on)
    {
        if (!is_elsewhere(on) || is_on_device)
            return;
        is_on_device = true;
        device = on.index() >= 0 ? static_cast<uint32_t>(on.index()) : 0;
    }

    void tensor(const at::Tensor &value)
    {
        const c10::TensorImpl *tensor = value.unsafeGetTensorImpl();
        if (!value.defined()) {
            part(role, "");
            return;
        }
        std::string described;
        take_device(tensor->device());
        if (!is_opaque(tensor)) {
            described = "shape=" + join(tensor->sizes());
            if (!tensor->is_contiguous())
                described += ";strides=" + join(tensor->strides());
            described += ";";
        }
        described += "dtype=" + type_name(c10::typeMetaToScalarType(tensor->dtype()));
        if (tensor->layout() != c10::kStrided)
            described += ";layout=SPARSE";
        part(role, described + ";memory=" + memory_name(tensor->device()));
        tensors++;
    }

    void list(c10::ArrayRef<c10::IValue> items)
    {
        Sums all = {0, 0, 0};
        for (const c10::IValue &item : items) {
            if (!item.isTensor() || !item.toTensor().defined())
                continue;
            const at::Tensor &value = item.toTensor();
            const c10::TensorImpl *tensor = value.unsafeGetTensorImpl();
            all.add(tensor);
            if (tensors < listed_tensors)
                this->tensor(value);
            else
                take_device(tensor->device());
        }
        if (!all.count)
            return;
        lists += (has_list ? " " : "") + std::to_string(all.count) + ":" + std::to_string(all.elements) +
                 ":" + std::to_string(all.bytes);
        has_list = true;
    }

    void scalar(const c10::IValue &value, bool is_item = false)
    {
        if (!scalars.empty() && scalars.back() != '[')
            scalars += ",";
        if (value.isBool())
            scalars += value.toBool() ? "True" : "False";
        else if (value.isInt())
            scalars += std::to_string(value.toInt());
        else if (value.isList() && !is_item) {
            scalars += "[";
            for (const c10::IValue &item : value.toListRef())
                scalar(item, true);
            scalars += "]";
        } else
            scalars += value.isTensor() ? "T" : "-";
    }

    void values(c10::ArrayRef<const c10::IValue> all, bool has_scalars)
    {
        for (const c10::IValue &value : all) {
            if (value.isTensor())
                tensor(value.toTensor());
            else if (value.isList())
                list(value.toListRef());
            else if (value.isDevice())
                take_device(value.toDevice());
            else if (value.isNone() && has_scalars)
                part(role, ""); // an optional tensor keeps its place
            if (has_scalars)
                scalar(value);
        }
        if (has_list)
            part(3, (role == 1 ? "lists=" : "output lists=") + lists);
        if (has_scalars)
            part(3, "args=" + scalars);
    }
};

// --- what a thread knows ---

// A name with the description of its inputs, or the description of outputs.
struct Known {
    uint64_t hash;
    uint64_t output_hash;  // of the outputs that it had last
    uint32_t name, parts;  // ids; parts 0: no tensors
    uint32_t output_parts; // of those outputs
    uint16_t next;         // of its chain, + 1; 0: none
    uint8_t device;        // + 1; 0: none
    uint8_t is_elsewhere;  // not of the CPU
};
static_assert(sizeof(Known) == 32, "two to a cache line");

struct OpenOp {
    const at::RecordFunction *function;
    Known *known; // NULL: no op, or nothing is known of it
    bool is_op;
};

struct Thread {
    uint64_t last_sequence;
    const char *module; // that it is in, as a path; NULL
    unsigned depth, known_count;
    uint64_t scalar_names[4]; // a bit for each hash of a name that has needs_scalars; others may share it
    OpenOp open[open_most];
    uint16_t chains[known_chains]; // the first of each in `known`, + 1
    Known known[known_most];       // in the order in which they were met
};

__thread Thread *this_thread __attribute__((tls_model("initial-exec")));
pthread_key_t thread_key;

void free_thread(void *thread)
{
    this_thread = nullptr;
    free(thread);
}

Thread *thread_of()
{
    if (!this_thread) {
        this_thread =
            static_cast<Thread *>(calloc(1, sizeof(Thread))); // pages that are not used are not there
        if (this_thread) {
            this_thread->last_sequence = OPSCOPE_NO_SEQUENCE;
            pthread_setspecific(thread_key, this_thread);
        }
    }
    return this_thread;
}

// Ops whose amount of work follows from more than the sizes of their tensors.
bool needs_scalars(const char *name)
{
    return strstr(name, "conv") || strstr(name, "attention") || strstr(name, "pool");
}

Known *find_known(Thread *thread, uint64_t hash)
{
    for (unsigned at = thread->chains[hash % known_chains]; at; at = thread->known[at - 1].next)
        if (thread->known[at - 1].hash == hash)
            return &thread->known[at - 1];
    return nullptr;
}

// When the table is full it is begun again: a program that always has other sizes.
Known *keep_known(Thread *thread, Known known)
{
    if (thread->known_count == known_most) {
        thread->known_count = 0;
        memset(thread->chains, 0, sizeof thread->chains);
    }
    uint16_t *chain = &thread->chains[known.hash % known_chains];
    known.next = *chain;
    thread->known[thread->known_count] = known;
    *chain = static_cast<uint16_t>(++thread->known_count);
    return &thread->known[*chain - 1];
}

Known describe(c10::ArrayRef<const c10::IValue> values, bool has_scalars, char role, const char *module)
{
    Description d(role);
    d.values(values, has_scalars);
    if (module && role == 1)
        d.part(3, std::string("module=") + module);
    Known made = {0, 0, 0, 0, 0, 0, static_cast<uint8_t>(d.device + 1), d.is_on_device};
    if (!d.text.empty())
        made.parts = opscope_name_(d.text.data(), d.text.size());
    return made;
}

// What is hashed besides the values: the names of autograd and of user ranges are on the stack, so the text counts and
// not where it is.
uint64_t hash_seed(const Thread *thread, uint64_t name_hash, bool has_scalars)
{
    return mix(name_hash ^ reinterpret_cast<uintptr_t>(thread->module), has_scalars);
}

__attribute__((noinline)) Known *learn_op(Thread *thread, const char *name, size_t length, uint64_t name_hash,
                                          c10::ArrayRef<const c10::IValue> values)
{
    bool has_scalars = needs_scalars(name);
    if (has_scalars)
        thread->scalar_names[name_hash >> 6 & 3] |= UINT64_C(1) << (name_hash & 63);
    Known made = {0, 0, 0, 0, 0, 0, 0, 0};
    uint64_t hash = 0;
    try {
        hash = hash_values(hash_seed(thread, name_hash, has_scalars), values, has_scalars);
        Known *known = has_scalars ? find_known(thread, hash) : nullptr;
        if (known)
            return known;
        made = describe(values, has_scalars, 1, thread->module);
    } catch (...) { // a tensor that does not say what it is: the op is recorded without
    }
    made.hash = hash;
    made.name = opscope_name_(name, length);
    return made.name ? keep_known(thread, made) : nullptr;
}

Known *op_of(Thread *thread, const char *name, c10::ArrayRef<const c10::IValue> values)
{
    size_t length = strlen(name);
    uint64_t name_hash = hash_text(0, name, length);
    bool may_have_scalars = thread->scalar_names[name_hash >> 6 & 3] >> (name_hash & 63) & 1;
    Known *known = nullptr;
    try {
        if (!may_have_scalars)
            known = find_known(thread, hash_values(hash_seed(thread, name_hash, false), values, false));
    } catch (...) {
    }
    return known ? known : learn_op(thread, name, length, name_hash, values);
}

// The description of an op's outputs; most often it is the one that it had last.
uint32_t outputs_of(Thread *thread, Known *op, c10::ArrayRef<const c10::IValue> values)
{
    try {
        uint64_t hash = hash_values(2, values, false);
        if (op && op->output_hash == hash)
            return op->output_parts;
        const Known *known = find_known(thread, hash);
        uint32_t parts = known ? known->parts : 0;
        if (!known) {
            Known made = describe(values, false, 2, nullptr);
            made.hash = hash;
            parts = made.parts;
            keep_known(thread, made);
        }
        if (op) {
            op->output_hash = hash;
            op->output_parts = parts;
        }
        return parts;
    } catch (...) {
        return 0;
    }
}

// --- from an op of the backward pass to the op that it belongs to ---

// The last op that was begun with a sequence number is the one that autograd made a node for.
constexpr unsigned link_entries = 1u << 16;
struct Link {
    std::atomic<uint64_t> sequence, call;
};
Link links[link_entries];

void keep_link(uint64_t sequence, uint64_t call)
{
    Link &link = links[sequence % link_entries];
    link.call.store(call, std::memory_order_relaxed);
    link.sequence.store(sequence, std::memory_order_release);
}

uint64_t find_link(uint64_t sequence)
{
    const Link &link = links[sequence % link_entries];
    return link.sequence.load(std::memory_order_acquire) == sequence
               ? link.call.load(std::memory_order_relaxed)
               : 0;
}

// --- callbacks ---

Known *begin_function(Thread *thread, const at::RecordFunction &function, const char *title)
{
    static Known unknown; // nothing is recorded any more
    Known *known = op_of(thread, title, function.inputs());
    const Known *what = known ? known : &unknown;
    bool is_backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
    int64_t number = function.seqNr();
    uint64_t sequence = number >= 0 ? static_cast<uint64_t>(number) : OPSCOPE_NO_SEQUENCE;
    uint32_t type = what->is_elsewhere ? OPSCOPE_OP_HOST : OPSCOPE_OP_CPU;
    uint32_t device = what->device ? what->device - 1u : no_device;
    opscope_known_op op = {what->name, what->parts, type, device, OPSCOPE_NO_SEQUENCE, 0};
    if (sequence != OPSCOPE_NO_SEQUENCE && (is_backward || sequence != thread->last_sequence)) {
        op.sequence = thread->last_sequence = sequence;
        op.forward = is_backward ? find_link(sequence) : 0;
    }
    uint64_t call = opscope_op_begin_known_(&op);
    if (sequence != OPSCOPE_NO_SEQUENCE && !is_backward && call)
        keep_link(sequence, call);
    return known;
}

// What a collective calls to describe itself, around its kernels: they are those of the op that is outside,
// c10d::allreduce_ and the like, which says which collective it is.
bool is_inside_collective(const Thread *thread, const char *name)
{
    return name[0] == 'r' && thread->depth && thread->open[thread->depth - 1].is_op &&
           strcmp(name, "record_param_comms") == 0;
}

std::unique_ptr<at::ObserverContext> begin_op(const at::RecordFunction &function)
{
    Thread *thread = opscope_is_recording() ? thread_of() : nullptr;
    if (!thread || thread->depth == open_most)
        return nullptr;
    const char *name = function.name();
    bool is_op = function.scope() != at::RecordScope::USER_SCOPE && !is_inside_collective(thread, name);
    OpenOp *open = &thread->open[thread->depth++];
    *open = {&function, nullptr, is_op};
    if (is_op)
        open->known = begin_function(thread, function, name);
    else if (!opscope_zone_begin_named_(name, strlen(name), 0))
        opscope_zone_hide_(); // paused: its end is not another zone's
    return nullptr;
}

// A step of a training loop ends where its optimizer has: torch marks that with a range of its own.
void mark_step(const at::RecordFunction &function)
{
    static const char range[] = "Optimizer.step#"; // and the name of the class
    static opscope_site site = {sizeof site, 0, "optimizer step", nullptr, nullptr, 0, 0};
    if (strncmp(function.name(), range, sizeof range - 1) == 0 && opscope_has_session())
        opscope_frame_observed_(&site);
}

// Ranges may end on another thread, or not where they began: then what is open is ended where that is found out.
void end_op(const at::RecordFunction &function, at::ObserverContext *)
{
    if (function.scope() == at::RecordScope::USER_SCOPE)
        mark_step(function);
    Thread *thread = this_thread;
    unsigned at = thread ? thread->depth : 0;
    while (at && thread->open[at - 1].function != &function)
        at--;
    if (!at)
        return; // begun before the observer was there, or on another thread
    while (thread->depth > at) {
        thread->depth--;
        opscope_zone_end_();
    }
    const OpenOp open = thread->open[--thread->depth];
    if (!open.is_op) {
        opscope_zone_end_();
        return;
    }
    const std::vector<c10::IValue> &outputs = function.outputs();
    c10::ArrayRef<const c10::IValue> values(outputs.data(), outputs.size());
    uint32_t parts = outputs.empty() ? 0 : outputs_of(thread, open.known, values);
    if (parts)
        opscope_op_end_known_(parts);
    else
        opscope_op_end_();
}

at::CallbackHandle handle;
bool is_started;

} // namespace

// Both by a thread that has the GIL. Also while recording is paused: nobody would say here that it goes on.
extern "C" __attribute__((visibility("default"))) void opscope_torch_start(void)
{
    static bool has_key;
    if (is_started || !opscope_has_session())
        return;
    has_key = has_key || pthread_key_create(&thread_key, free_thread) == 0;
    if (!has_key)
        return;
    is_started = true;
    handle = at::addGlobalCallback(at::RecordFunctionCallback(begin_op, end_op)
                                       .needsInputs(true)
                                       .needsOutputs(true)
                                       .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                                                at::RecordScope::USER_SCOPE}));
}

extern "C" __attribute__((visibility("default"))) void opscope_torch_stop(void)
{
    if (is_started)
        at::removeCallback(handle);
    is_started = false;
}

// From here on the thread's ops are those of this module, by its path; the text must stay. Returns the one before.
extern "C" __attribute__((visibility("default"))) const char *opscope_torch_module(const char *path)
{
    Thread *thread = thread_of();
    const char *before = thread ? thread->module : nullptr;
    if (thread)
        thread->module = path;
    return before;
}
