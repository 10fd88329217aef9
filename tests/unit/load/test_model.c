#include "model.h"

#include <criterion/criterion.h>

Test(model, none_accepts_any_batch_and_reports_no_overshoot)
{
    struct rue_model model = rue_model_none();
    struct rue_batch batch = {.count = 1000000};
    for (int i = 0; i < 100; i++) {
        uint64_t ticket = 77;
        cr_assert_eq(model.ops->submit(model.state, &batch, &ticket, NULL), RUE_OK);
        cr_assert_eq(model.ops->wait(model.state, ticket, NULL), RUE_OK);
    }
    cr_assert_str_eq(model.ops->name, "none");
    cr_assert_null(model.ops->overshoot_ns);
    rue_model_close(&model);
}

Test(model, close_accepts_null_and_closed_models)
{
    struct rue_model model = rue_model_none();
    rue_model_close(&model);
    rue_model_close(&model);
    rue_model_close(NULL);
}
