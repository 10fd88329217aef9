#include "model.h"

static rue_status submit_nothing(void *state, const struct rue_batch *batch, uint64_t *ticket,
                                 rue_error *error)
{
    (void)state, (void)batch, (void)error;
    *ticket = 0;
    return RUE_OK;
}

static rue_status wait_for_nothing(void *state, uint64_t ticket, rue_error *error)
{
    (void)state, (void)ticket, (void)error;
    return RUE_OK;
}

static void close_nothing(void *state)
{
    (void)state;
}

struct rue_model rue_model_none(void)
{
    static const struct rue_model_ops none = {
        .name = "none", .submit = submit_nothing, .wait = wait_for_nothing, .close = close_nothing};
    return (struct rue_model){.ops = &none};
}

size_t rue_model_in_flight(const struct rue_model *model)
{
    return model->ops->in_flight ? model->ops->in_flight : 1;
}

void rue_model_close(struct rue_model *model)
{
    if (!model || !model->ops) return;
    model->ops->close(model->state);
    *model = (struct rue_model){0};
}

rue_status rue_model_check_input(const struct rue_model_input *input, rue_error *error)
{
    if (input->item_values == 0 || input->item_values == RUE_TENSOR_ITEMS) return RUE_OK;
    return rue_fail(
        error, RUE_USAGE,
        "models that compute need images of 3 x 224 x 224, and the items of these data have another "
        "shape: use simulated models");
}
