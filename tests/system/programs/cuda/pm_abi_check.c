/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled, not run, where the vendor's headers are: our declarations for sampling of counters against theirs. One of
 * their headers includes <string> of C++ for nothing: the test gives it an empty file of that name. */
#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include "collect/gpu/abi.h"

#define SAME(a, b) _Static_assert((long)(a) == (long)(b), #a " is not " #b)
/* Ours, theirs: the same length up to the last member that we know, and that member at its place. */
#define STRUCT(ours, last, theirs, member)                                                                   \
    SAME(offsetof(struct ours, last), offsetof(theirs, member));                                             \
    SAME(PM_SIZE(struct ours, last), offsetof(theirs, member) + sizeof(((theirs *)0)->member))
#define AT(ours, member, theirs, its) SAME(offsetof(struct ours, member), offsetof(theirs, its))

STRUCT(pm_nothing, reserved, CUpti_Profiler_Initialize_Params, pPriv);
STRUCT(pm_chip_name, name, CUpti_Device_GetChipName_Params, pChipName);
STRUCT(pm_host_initialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
AT(pm_host_initialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
AT(pm_host_initialize, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
STRUCT(pm_host, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
STRUCT(pm_add_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
AT(pm_add_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
STRUCT(pm_config_size, size, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
STRUCT(pm_config_image, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
AT(pm_config_image, size, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
STRUCT(pm_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
AT(pm_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
STRUCT(pm_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
AT(pm_evaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
AT(pm_evaluate, sample, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
AT(pm_evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
STRUCT(pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params, pCounterAvailabilityImage);
AT(pm_availability, size, CUpti_PmSampling_GetCounterAvailability_Params, counterAvailabilityImageSize);
STRUCT(pm_enable, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
STRUCT(pm_object, object, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
STRUCT(pm_object, object, CUpti_PmSampling_Start_Params, pPmSamplingObject);
STRUCT(pm_object, object, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
#if CUPTI_API_VERSION >= 26 /* CUDA 12.8; before that it ends with the trigger, and has exactly this length */
STRUCT(pm_set_config, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
SAME(CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST, PM_KEEP_OLDEST);
#else
SAME(CUpti_PmSampling_SetConfig_Params_STRUCT_SIZE, offsetof(struct pm_set_config, append));
#endif
AT(pm_set_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
AT(pm_set_config, hardware_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
AT(pm_set_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
AT(pm_set_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
STRUCT(pm_image_size, size, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
AT(pm_image_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
AT(pm_image_size, most_samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
STRUCT(pm_image_clear, image, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
AT(pm_image_clear, size, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
STRUCT(pm_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
AT(pm_decode, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
AT(pm_decode, stopped, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
STRUCT(pm_image_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
AT(pm_image_info, image, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
STRUCT(pm_sample_info, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
AT(pm_sample_info, sample, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
AT(pm_sample_info, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);

SAME(CUPTI_SUCCESS, PM_OK);
SAME(CUPTI_ERROR_INVALID_PARAMETER, PM_INVALID_PARAMETER);
SAME(CUPTI_ERROR_OUT_OF_MEMORY, PM_OUT_OF_MEMORY);
SAME(CUPTI_ERROR_NOT_INITIALIZED, PM_NOT_INITIALIZED);
SAME(CUPTI_ERROR_HARDWARE_BUSY, PM_HARDWARE_BUSY);
SAME(CUPTI_ERROR_NOT_SUPPORTED, PM_NOT_SUPPORTED);
SAME(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, PM_NO_PRIVILEGES);
SAME(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, PM_NO_VIRTUAL_PRIVILEGES);
SAME(CUPTI_PROFILER_TYPE_PM_SAMPLING, PM_PROFILER_SAMPLING);
SAME(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL, PM_TRIGGER_CLOCKS);
SAME(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL, PM_TRIGGER_NS);
SAME(CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL, PM_STOPPED_IMAGE_FULL);
SAME(CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS, PM_STOPPED_END_OF_DATA);
