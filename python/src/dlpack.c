/* SPDX-License-Identifier: Apache-2.0 */
/* What a DLPack capsule says of a tensor: shape, data type, device. For objects that speak nothing but DLPack; it reads
 * the description and leaves the capsule as it is, so its own destructor gives the tensor back.
 *
 * The structures are DLPack's binary interface, from the version without a version field ("dltensor") and from 1.0 on
 * ("dltensor_versioned"; a major version above 1 may be laid out otherwise and is refused). */
#include <string.h>

#include "base/count_of.h"
#include "python/src/native.h"

struct dl_tensor {
    void *data;
    int32_t device_type, device_number;
    int32_t rank;
    uint8_t type_code, type_bits;
    uint16_t type_lanes;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
};

struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

static const char *const type_names[] = {"INT", "UINT", "FLOAT", "OPAQUE", "BFLOAT", "COMPLEX", "BOOL"};
static const char *const device_names[] = {
    [1] = "cpu",   [2] = "cuda", [3] = "cuda_host", [4] = "opencl",  [7] = "vulkan",
    [8] = "metal", [9] = "vpi",  [10] = "rocm",     [14] = "oneapi", [15] = "webgpu"};

static const struct dl_tensor *tensor_of(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        return PyCapsule_GetPointer(capsule, "dltensor");
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return NULL;
    const struct dl_versioned *versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    return versioned->major == 1 ? &versioned->tensor : NULL;
}

static PyObject *shape_of(const struct dl_tensor *tensor)
{
    PyObject *shape = PyTuple_New(tensor->rank);
    for (int32_t i = 0; shape && i < tensor->rank; i++) {
        PyObject *size = PyLong_FromLongLong(tensor->shape[i]);
        if (!size)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, i, size);
    }
    return shape;
}

PyObject *dlpack_description(PyObject *self, PyObject *capsule)
{
    (void)self;
    const struct dl_tensor *tensor = tensor_of(capsule);
    if (!tensor || tensor->rank < 0 || (tensor->rank && !tensor->shape)) {
        PyErr_SetString(PyExc_ValueError, "opscope: no DLPack capsule of a version that is known here");
        return NULL;
    }
    char type[32] = "", lanes[16] = "", device[32];
    size_t known_types = COUNT_OF(type_names);
    size_t known_devices = COUNT_OF(device_names);
    if (tensor->type_lanes > 1)
        snprintf(lanes, sizeof lanes, "X%u", tensor->type_lanes);
    if (tensor->type_code == known_types - 1)
        snprintf(type, sizeof type, "BOOL%s", lanes);
    else if (tensor->type_code < known_types)
        snprintf(type, sizeof type, "%s%u%s", type_names[tensor->type_code], tensor->type_bits, lanes);
    size_t kind = tensor->device_type >= 0 ? (size_t)tensor->device_type : 0;
    const char *name = kind < known_devices ? device_names[kind] : NULL;
    if (kind == 1) /* there is only one */
        snprintf(device, sizeof device, "cpu");
    else if (name)
        snprintf(device, sizeof device, "%s:%d", name, tensor->device_number);
    else
        snprintf(device, sizeof device, "device %d:%d", tensor->device_type, tensor->device_number);
    PyObject *shape = shape_of(tensor);
    return shape ? Py_BuildValue("(Nzs)", shape, *type ? type : NULL, device) : NULL;
}
