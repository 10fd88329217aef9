#include "findings.h"

#include <stdio.h>

void rue_findings_name(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    if (variant->label)
        snprintf(out, bytes, "%s", variant->label);
    else
        rue_variant_describe(&variant->variant, out, bytes);
}
