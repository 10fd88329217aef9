/* What a later study can start from, as the member "forecast" of a recommendation. */
#ifndef RUE_JSON_FORECAST_H
#define RUE_JSON_FORECAST_H

#include "findings.h"
#include "json_document.h"

/* null where the strategy did not predict. */
json_t *rue_json_forecast(struct rue_json_document *document, const struct rue_findings *findings,
                          const struct rue_variant_findings *variant);

#endif
