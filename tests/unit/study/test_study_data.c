/* Studies of images on disk: with rue's own runner, and with runners that cannot load what is requested. */
#include "served_study.h"

#include "conversion.h"
#include "data_fixture.h"

static const char *paths[2];
static char photos[64 + 16], other[64 + 16];

static void begin(void)
{
    study_begin();
    data_photos_make(12);
    snprintf(photos, sizeof photos, "%s/photos", temporary_folder);
    snprintf(other, sizeof other, "%s/other.tensor", temporary_folder);
    paths[0] = photos;
    paths[1] = other;
    goal.data.count = 1;
    goal.data.paths = paths;
    goal.data.modes[RUE_PREPROCESSED] = true;
    goal.models.names = "none";
    goal.search.budget = (struct rue_budget){.trials = 20};
    goal.search.strategy = "grid";
    goal.loader.memory_bytes = 1 << 30;
    rue_knob_choices_add(&goal.space.knobs, "batch_size", "8", "--batch-size");
    rue_knob_choices_add(&goal.space.knobs, "num_workers", "0", "--num-workers");
    served.real = true;
}

TestSuite(study_data, .init = begin, .fini = study_end, .timeout = 120);

Test(study_data, raw_images_are_compared_with_a_converted_sample)
{
    goal.data.sample_images = 1000;
    study_succeed();
    cr_assert_eq(findings->variant_count, 2);
    const struct rue_variant_findings *sample = &findings->variants[1];
    cr_assert(sample->data.sample && sample->data.images == 12, "all of them, as they are few");
    cr_assert(sample->variant.mode == RUE_PREPROCESSED && sample->data.build_s_per_image > 0);
    cr_assert(is_noted("converting 12 of 12 images to compare with preprocessed data"));
    cr_assert_gt(study_best(1)->value[RUE_BATCH_SIZE], 0);
    char part[sizeof study->setup.place.part];
    strcpy(part, study->setup.place.part);
    cr_assert_eq(access(part, F_OK), 0);
    study_close();
    cr_assert_neq(access(part, F_OK), 0, "the sample is removed");
    study_succeed();
    cr_assert_gt(findings->run.reused_trials, 0);
}

Test(study_data, a_dry_run_plans_the_sample_without_converting_it)
{
    rue_error error = {0};
    goal.data.sample_images = 1000;
    goal.output.dry_run = true;
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    cr_assert_eq(study->setup.variant_count, 2);
    cr_assert(is_noted("a dry run does not convert a sample"));
}

Test(study_data, augmented_images_are_not_compared_with_a_sample)
{
    goal.data.sample_images = 1000;
    strcpy(goal.loader.workload.transform, "train");
    strcpy(goal.loader.workload.augment, "area 0.08 1 ratio 0.75 1.33333 flip 0.5");
    study_succeed();
    cr_assert_eq(findings->variant_count, 1);
    cr_assert(is_noted("preprocessed data are skipped: --transform train crops at random"));
}

Test(study_data, a_sample_that_is_too_small_for_a_cold_job_is_skipped)
{
    rue_error error = {0};
    served.real = false;
    served.opened = "{\"cache\":\"cold\",\"images\":12}";
    goal.models.names = "m1";
    goal.data.sample_images = 10;
    strcpy(goal.loader.workload.cache, "cold");
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("a sample of 10 images is too small for a cold job of 12"));
    goal.job.images = 100;
    study_refuse(RUE_USAGE,
                 "too few for a cold job of 100, because repeated images come from memory; give --images "
                 "12 or less");
}

Test(study_data, damaged_images_are_reported_when_the_data_are_opened)
{
    rue_error error = {0};
    data_photo_damage(4);
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("1 of 12 images is damaged or unreadable, such as "));
    cr_assert(is_noted("a job stops there: repair or remove it, or give --bad-images replace"));
}

Test(study_data, a_job_that_meets_a_damaged_image_ends_the_study_with_its_name)
{
    rue_error error = {0};
    data_photo_damage(4);
    cr_assert_eq(study_tune(&error), RUE_DATA);
    cr_assert(strstr(error.message, "0001.jpg"), "%s", error.message);
}

Test(study_data, two_formats_are_compared_and_the_time_of_converting_is_measured)
{
    rue_error error = {0};
    goal.data.count = 2;
    goal.data.sample_images = 6;
    data_tensor_make("photos", "other.tensor", RUE_FLOAT32);
    study_succeed();
    cr_assert_eq(findings->variant_count, 2);
    cr_assert_eq(rue_conversion_measure(&study->setup, findings, &error), RUE_OK, "%s", error.message);
    cr_assert_gt(findings->variants[1].data.build_s_per_image, 0);
    cr_assert_gt(findings->variants[0].data.storage_bytes, 0);
    cr_assert_eq(access(temporary_path("out/sample.tensor"), F_OK), -1);
}

Test(study_data, what_cannot_be_converted_has_an_unknown_time)
{
    rue_error error = {0};
    goal.data.count = 2;
    data_tensor_make("photos", "other.tensor", RUE_FLOAT32);
    paths[0] = other, paths[1] = photos;
    study_succeed();
    cr_assert_eq(rue_conversion_measure(&study->setup, findings, &error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("photos cannot be made from "));
    data_photo_damage(4);
    paths[0] = photos, paths[1] = other;
    goal.data.sample_images = 12;
    goal.loader.workload.bad_images = RUE_BAD_REPLACE;
    study_succeed();
    study->setup.goal.loader.workload.bad_images = RUE_BAD_FAIL;
    cr_assert_eq(rue_conversion_measure(&study->setup, findings, &error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("the time of converting to "));
}

Test(study_data, data_that_do_not_suit_the_options_are_refused)
{
    data_tensor_make("photos", "other.tensor", RUE_FLOAT32);
    goal.data.count = 2;
    paths[1] = photos;
    study_refuse(RUE_USAGE, "photos is given twice; remove one");
    goal.data.count = 1;
    goal.data.modes[RUE_RAW] = false;
    study_refuse(RUE_USAGE, "photos is raw data, which --mode excludes");
    paths[0] = other;
    strcpy(goal.loader.workload.transform, "train");
    study_refuse(RUE_USAGE, "holds preprocessed images, whose crop is fixed");
    goal.loader.workload = rue_workload_default();
    goal.loader.workload.batch_dtype = RUE_UINT8;
    study_refuse(RUE_USAGE, "holds float32 values, which cannot become uint8");
    paths[0] = temporary_path("none");
    study_refuse(RUE_DATA, "/none");
    cr_assert_neq(access(out_folder, F_OK), 0, "nothing is left");
}

Test(study_data, preprocessed_data_of_another_size_are_refused)
{
    data_tensor_make("photos", "other.tensor", RUE_UINT8);
    paths[0] = other;
    strcpy(goal.loader.workload.geometry.image_size, "96");
    study_refuse(RUE_USAGE, "other.tensor");
}

/* A runner of the user's that knows less than rue's. */
Test(study_data, what_a_runner_does_not_report_is_not_assumed)
{
    served.real = false;
    served.hello = "{\"models\":[]}";
    goal.models.names = "none";
    goal.loader.workload.batch_dtype = RUE_UINT8;
    study_refuse(RUE_USAGE, "--batch-dtype uint8: the runner served 1.0 does not report batches of uint8");
    goal.loader.workload = rue_workload_default();
    strcpy(goal.loader.workload.transform, "train");
    study_refuse(RUE_USAGE, "does not report that it augments");
    served.opened = "{\"transform\":\"train\"}";
    strcpy(goal.loader.workload.augment, "views 2 area 0.08 1 ratio 0.75 1.33333 flip 0.5");
    study_refuse(RUE_USAGE, "--augment");
    goal.loader.workload = rue_workload_default();
    strcpy(goal.loader.workload.geometry.image_size, "96");
    study_refuse(RUE_USAGE, "--image-size, --resize and the like: the runner served 1.0 does not report");
    goal.loader.workload = rue_workload_default();
    goal.data.keys.subset = "0:10";
    study_refuse(RUE_USAGE, "the runner served 1.0 cannot load a subset: remove --subset");
    served.hello = NULL;
    goal.data.keys.subset = NULL;
    goal.models.names = "resnet50@h100,m1";
    rue_error error = {0};
    served.opened = "{\"cache\":\"as-is\",\"cache_reason\":\"it is on NFS\",\"digest\":\"\"}";
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("trials may read the data from memory or from storage: it is on NFS"));
}

Test(study_data, a_subset_is_loaded_by_its_absolute_path)
{
    char subset[96];
    temporary_text("list", "0\n5\n7\n8\n9\n10\n11\n2\n3\n");
    cr_assert_eq(chdir(temporary_folder), 0);
    goal.data.keys.subset = "@list";
    study_succeed();
    cr_assert_eq(findings->variants[0].data.images, 9);
    snprintf(subset, sizeof subset, "@%s/list", temporary_folder);
    cr_assert_str_eq(study->setup.variants[0].variant.subset, subset);
}

Test(study_data, a_model_that_computes_takes_images_of_one_shape)
{
    goal.models.names = "resnet18@host:1";
    strcpy(goal.loader.workload.transform, "train");
    strcpy(goal.loader.workload.augment, "views 2 area 0.08 1 ratio 0.75 1.33333 flip 0.5");
    study_refuse(RUE_USAGE, "models that compute take one view of an image, and --augment asks for 2");
    goal.loader.workload = rue_workload_default();
    strcpy(goal.loader.workload.geometry.image_size, "96");
    study_refuse(RUE_USAGE, "photos: ");
}

Test(study_data, copies_of_data_are_compared_by_their_paths)
{
    data_tensor_make("photos", "other.tensor", RUE_FLOAT32);
    data_tensor_make("photos", "copy.tensor", RUE_FLOAT32);
    char copy[96];
    snprintf(copy, sizeof copy, "%s/copy.tensor", temporary_folder);
    paths[0] = copy;
    goal.data.count = 2;
    study_succeed();
    cr_assert_eq(findings->variant_count, 2);
    cr_assert_eq(findings->run.reused_trials, 0, "no trial of one counts for the other");
    cr_assert_str_neq(findings->variants[0].scenario, findings->variants[1].scenario);
}

Test(study_data, converted_chunks_are_as_those_of_the_data)
{
    rue_error error = {0};
    char store[96];
    data_tensor_make("photos", "store.zarr", RUE_FLOAT32);
    snprintf(store, sizeof store, "%s/store.zarr", temporary_folder);
    paths[1] = store;
    goal.data.count = 2;
    goal.data.sample_images = 4;
    study_succeed();
    cr_assert_eq(rue_conversion_measure(&study->setup, findings, &error), RUE_OK, "%s", error.message);
    cr_assert_gt(findings->variants[1].data.build_s_per_image, 0);
}

/* ---- folders ---- */

Test(study_data, a_study_has_the_folder_of_its_data)
{
    rue_error error = {0};
    cr_assert_eq(chdir(temporary_folder), 0);
    goal.output.folder = NULL;
    goal.output.name_suffix = "-x";
    study_succeed();
    cr_assert_str_eq(study->setup.place.folder, "rue-out/photos-x");
    goal.output.name_suffix = NULL;
    study_succeed();
    cr_assert_str_eq(study->setup.place.folder, "rue-out/photos");
    temporary_file("copy/photos/class_0/0000.jpg", "x", 1);
    for (unsigned i = 0; i < 9; i++) {
        char name[64];
        struct jpeg_file file = data_photo(i);
        snprintf(name, sizeof name, "copy/%s", data_photo_name(i));
        temporary_file(name, file.data, file.bytes);
        free(file.data);
    }
    paths[0] = "copy/photos/";
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    cr_assert_str_eq(study->setup.place.folder, "rue-out/photos-2", "other data of the same name");
}

Test(study_data, a_refused_study_leaves_no_folder_and_no_file_of_others_goes)
{
    goal.job.images = 10;
    goal.loader.workload.drop_last = true;
    goal.space.knobs.count = 0;
    rue_knob_choices_add(&goal.space.knobs, "batch_size", "16", "--batch-size");
    snprintf(out_folder, sizeof out_folder, "%s/a/b/c", temporary_folder);
    study_refuse(RUE_USAGE, "has no batch of 16");
    study_close();
    cr_assert_neq(access(temporary_path("a"), F_OK), 0, "nothing is left");
    temporary_text("a/b/mine", "x");
    study_refuse(RUE_USAGE, "has no batch of 16");
    study_close();
    cr_assert_eq(access(temporary_path("a/b/mine"), F_OK), 0);
    cr_assert_neq(access(temporary_path("a/b/c"), F_OK), 0);
}
