#include "difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double confidence = 0.95;

void rue_difference_close(struct rue_difference *difference)
{
    if (difference) free(difference->cells);
    free(difference);
}

/* ---- variants ---- */

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* How sure it is that both are the same data: 0 if mode, format or dtype differ. The same layout of chunks
 * says more than the same path, and that more than the same name or the same digest. */
static int find_likeness(const struct rue_variant_findings *a, const struct rue_variant_findings *b)
{
    const struct rue_variant *one = &a->variant, *other = &b->variant;
    if (!is_same(rue_findings_mode(a), rue_findings_mode(b)) || !is_same(one->format, other->format) ||
        !is_same(one->dtype, other->dtype))
        return 0;
    return 1 + 8 * is_same(a->data.layout, b->data.layout) + 4 * is_same(one->path, other->path) +
           2 * is_same(rue_findings_last_part(one->path), rue_findings_last_part(other->path)) +
           is_same(a->data.digest, b->data.digest);
}

/* The variant that is most like another one; RUE_NONE: none, or several are. */
static size_t find_likest(const struct rue_findings *findings, const struct rue_variant_findings *other)
{
    size_t likest = RUE_NONE;
    int most = 0;
    for (size_t v = 0; v < findings->variant_count; v++) {
        int likeness = find_likeness(&findings->variants[v], other);
        if (likeness < most || likeness == 0) continue;
        likest = likeness > most ? v : RUE_NONE;
        most = likeness;
    }
    return likest;
}

/* Variants match if each is more like the other one than any other variant is. */
size_t rue_difference_match(const struct rue_findings *const findings[2], size_t index)
{
    size_t other = find_likest(findings[1], &findings[0]->variants[index]);
    bool mutual = other != RUE_NONE && find_likest(findings[0], &findings[1]->variants[other]) == index;
    return mutual ? other : RUE_NONE;
}

/* ---- cells ---- */

static void judge(struct rue_difference *difference, struct rue_changed_cell *cell)
{
    const struct rue_change *change = &cell->change;
    bool known = change->confidence > 0;
    double margin = 1 + RUE_DIFFERENCE_THRESHOLD;
    bool slower = known ? change->low > 1 : change->ratio > margin,
         faster = known ? change->high < 1 : change->ratio < 1 / margin;
    cell->verdict = slower ? RUE_CHANGE_SLOWER : faster ? RUE_CHANGE_FASTER : RUE_CHANGE_NONE;
    difference->slower += slower;
    difference->faster += faster;
    difference->unknown += !known;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* NaN of no values. Sorts them. */
static double find_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count ? (values[(count - 1) / 2] + values[count / 2]) / 2 : NAN;
}

/* Lists the cells that are ok in both; then their changes, whose intervals depend on the number of cells. */
static void compare_cells(struct rue_difference *difference, const size_t *columns, double *ratios)
{
    const struct rue_cost_matrix *before = difference->variants[0]->matrix,
                                 *after = difference->variants[1]->matrix;
    const struct rue_scatter scatters[2] = {rue_scatter_find(before), rue_scatter_find(after)};
    for (size_t m = 0; m < before->model_count; m++) {
        size_t other = rue_cost_matrix_model(after, before->models[m]);
        difference->common_models += other != RUE_NONE;
        for (size_t c = 0; other != RUE_NONE && difference->comparable && c < before->config_count; c++)
            if (columns[c] != RUE_NONE && rue_cost_matrix_cell(before, m, c)->state == RUE_CELL_OK &&
                rue_cost_matrix_cell(after, other, columns[c])->state == RUE_CELL_OK)
                difference->cells[difference->cell_count++] =
                    (struct rue_changed_cell){.model = m, .config = {c, columns[c]}};
    }
    for (size_t i = 0; i < difference->cell_count; i++) {
        struct rue_changed_cell *cell = &difference->cells[i];
        size_t other = rue_cost_matrix_model(after, before->models[cell->model]);
        const struct rue_cell *const cells[2] = {rue_cost_matrix_cell(before, cell->model, cell->config[0]),
                                                 rue_cost_matrix_cell(after, other, cell->config[1])};
        cell->change = rue_change_find(scatters, cells, confidence, difference->cell_count);
        ratios[i] = cell->change.ratio;
        judge(difference, cell);
    }
    difference->median_ratio = find_median(ratios, difference->cell_count);
    size_t known = 0;
    for (size_t i = 0; i < difference->cell_count; i++) {
        const struct rue_change *change = &difference->cells[i].change;
        if (change->confidence > 0) ratios[known++] = sqrt(change->high / change->low);
    }
    difference->noise_ratio = find_median(ratios, known);
}

static rue_status compare_matrices(struct rue_difference *difference, rue_error *error)
{
    const struct rue_cost_matrix *before = difference->variants[0]->matrix;
    size_t cells = before->model_count * before->config_count;
    size_t *columns = calloc(before->config_count + 1, sizeof *columns);
    double *ratios = calloc(cells + 1, sizeof *ratios);
    difference->cells = calloc(cells + 1, sizeof *difference->cells);
    bool complete = columns && ratios && difference->cells;
    for (size_t c = 0; complete && c < before->config_count; c++) {
        columns[c] = rue_findings_config(difference->variants[1]->matrix, &before->configs[c]);
        difference->common_configs += columns[c] != RUE_NONE;
    }
    if (complete) compare_cells(difference, columns, ratios);
    free(ratios);
    free(columns);
    return complete ? RUE_OK
                    : rue_fail_memory(error, "a comparison of studies", cells * sizeof *difference->cells);
}

/* ---- answers ---- */

static void move_answer(struct rue_difference *difference, size_t from)
{
    const struct rue_variant_findings *own = difference->variants[from], *there = difference->variants[!from];
    struct rue_moved_answer *moved = &difference->moved[from];
    size_t answer = own->selection->recommended, best = there->selection->recommended;
    moved->config =
        answer == RUE_NONE ? RUE_NONE : rue_findings_config(there->matrix, &own->matrix->configs[answer]);
    if (moved->config != RUE_NONE && best != RUE_NONE && best != moved->config)
        rue_findings_speedup(difference->findings[!from], there, best, moved->config, &moved->loss);
}

rue_status rue_difference_open(const struct rue_findings *const findings[2], size_t index,
                               struct rue_difference **out, rue_error *error)
{
    size_t other = rue_difference_match(findings, index);
    *out = NULL;
    if (other == RUE_NONE) return RUE_OK;
    struct rue_difference *difference = calloc(1, sizeof *difference);
    if (!difference) return rue_fail_memory(error, "a comparison of studies", sizeof *difference);
    const struct rue_variant_findings *a = &findings[0]->variants[index], *b = &findings[1]->variants[other];
    difference->findings[0] = findings[0];
    difference->findings[1] = findings[1];
    difference->variants[0] = a;
    difference->variants[1] = b;
    difference->comparable =
        a->goal == b->goal && (!a->job.images || !b->job.images || a->job.images == b->job.images);
    rue_status status = compare_matrices(difference, error);
    if (status != RUE_OK) return rue_difference_close(difference), status;
    move_answer(difference, 0);
    move_answer(difference, 1);
    *out = difference;
    return RUE_OK;
}
