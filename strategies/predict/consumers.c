#include "consumers.h"

bool rue_consumers_pins(const struct rue_config *config)
{
    return config->value[RUE_PIN_MEMORY] != 0;
}

struct rue_consumers rue_consumers_of(size_t models, const struct rue_config *configs, size_t config_count)
{
    size_t pinned = 0;
    for (size_t c = 0; c < config_count; c++) pinned += rue_consumers_pins(&configs[c]);
    size_t of_model = pinned > 0 && pinned < config_count ? 2 : 1;
    return (struct rue_consumers){models * of_model, of_model, pinned > 0};
}

size_t rue_consumers_find(const struct rue_consumers *consumers, size_t model,
                          const struct rue_config *config)
{
    return model * consumers->of_model + (consumers->of_model == 2 && !rue_consumers_pins(config));
}

size_t rue_consumers_other(const struct rue_consumers *consumers, size_t consumer)
{
    return consumers->of_model == 2 ? consumer ^ 1 : consumer;
}
