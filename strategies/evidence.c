#include "evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

/* A trial. By each hypothesis it has its row of the lower triangle L of the trials' covariance, L L', and
 * what is left of it that those before it did not tell. */
struct told {
    size_t cell;
    double kept;           /* of the drift then, now */
    double shared, scaled; /* the covariance with the newest trial: whatever alpha is, and beside for 1 */
    double *slopes;        /* [parameters] owned, and what follows is in it */
    double *left;          /* [hypotheses] in standard deviations */
    double *rows;          /* [hypotheses][own index + 1] */
};

struct rue_evidence {
    const struct rue_error_prior *prior;
    size_t parameters, count, capacity;
    struct told *at; /* [count] */
    size_t hypothesis_count;
    struct rue_error_scales *scales; /* [hypothesis_count] */
    double *log_probability;         /* [hypothesis_count] */
};

rue_status rue_evidence_open(const struct rue_error_prior *prior,
                             const struct rue_error_hypothesis *hypotheses, size_t count,
                             struct rue_evidence **out, rue_error *error)
{
    struct rue_evidence *evidence = calloc(1, sizeof *evidence);
    if (!evidence) return rue_fail_memory(error, "evidence", sizeof *evidence);
    *evidence = (struct rue_evidence){.prior = prior,
                                      .parameters = rue_error_prior_parameters(prior),
                                      .hypothesis_count = count,
                                      .scales = calloc(count, sizeof *evidence->scales),
                                      .log_probability = calloc(count, sizeof(double))};
    if (!evidence->scales || !evidence->log_probability) {
        rue_evidence_close(evidence);
        return rue_fail_memory(error, "evidence", count * sizeof *hypotheses);
    }
    for (size_t h = 0; h < count; h++) {
        evidence->scales[h] = hypotheses[h].scales;
        evidence->log_probability[h] = hypotheses[h].log_prior;
    }
    *out = evidence;
    return RUE_OK;
}

void rue_evidence_close(struct rue_evidence *evidence)
{
    if (!evidence) return;
    for (size_t i = 0; i < evidence->count; i++) free(evidence->at[i].slopes);
    free(evidence->at);
    free(evidence->scales);
    free(evidence->log_probability);
    free(evidence);
}

void rue_evidence_wait(struct rue_evidence *evidence, double seconds)
{
    double kept = rue_error_prior_drift_kept(seconds);
    for (size_t i = 0; i < evidence->count; i++) evidence->at[i].kept *= kept;
}

/* Room for one more; NULL without memory. */
static struct told *add(struct rue_evidence *evidence, rue_error *error)
{
    size_t hypotheses = evidence->hypothesis_count;
    size_t doubles = evidence->parameters + hypotheses + hypotheses * (evidence->count + 1);
    rue_status status = rue_array_grow(&evidence->at, &evidence->capacity, evidence->count + 1,
                                       sizeof *evidence->at, "evidence", error);
    if (status != RUE_OK) return NULL;
    double *room = malloc(doubles * sizeof *room);
    if (!room) return rue_fail_memory(error, "evidence", doubles * sizeof *room), NULL;
    struct told *told = &evidence->at[evidence->count];
    *told = (struct told){.kept = 1, .slopes = room};
    told->left = told->slopes + evidence->parameters;
    told->rows = told->left + hypotheses;
    return told;
}

/* In four sums, which a processor forms at the same time. */
static double product(const double *a, const double *b, size_t count)
{
    double sums[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t s = 0; s < 4; s++) sums[s] += a[i + s] * b[i + s];
    for (; i < count; i++) sums[0] += a[i] * b[i];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/* The newest trial, by the hypothesis at `index`. */
static void judge(struct rue_evidence *evidence, size_t index, double log_ratio, double sd)
{
    const struct rue_error_scales *scales = &evidence->scales[index];
    size_t last = evidence->count;
    struct told *told = &evidence->at[last];
    double *row = told->rows + index * (last + 1);
    double square = scales->alpha * scales->alpha, noise = scales->noise * sd, surprise = log_ratio;
    for (size_t i = 0; i < last; i++) {
        const struct told *before = &evidence->at[i];
        const double *other = before->rows + index * (i + 1);
        row[i] = (before->shared + square * before->scaled - product(row, other, i)) / other[i];
        surprise -= row[i] * before->left[index];
    }
    double variance = told->shared + square * told->scaled - product(row, row, last) + noise * noise;
    variance += rue_error_prior_disturbance(surprise / sqrt(variance));
    row[last] = sqrt(variance);
    told->left[index] = surprise / row[last];
    evidence->log_probability[index] -= 0.5 * (log(variance) + surprise * surprise / variance);
}

rue_status rue_evidence_add(struct rue_evidence *evidence, size_t cell, const double *jacobian,
                            double log_ratio, double sd, rue_error *error)
{
    size_t n = evidence->parameters;
    if (evidence->count == RUE_EVIDENCE_TRIALS) return RUE_OK;
    struct told *told = add(evidence, error);
    if (!told) return RUE_MEMORY;
    told->cell = cell;
    if (jacobian)
        rue_error_prior_slopes_of(evidence->prior, jacobian, told->slopes);
    else
        memcpy(told->slopes, rue_error_prior_slopes(evidence->prior, cell), n * sizeof *told->slopes);
    for (size_t i = 0; i <= evidence->count; i++) {
        struct told *before = &evidence->at[i];
        before->shared =
            rue_error_prior_drift_variance() * before->kept + product(told->slopes, before->slopes, n);
        before->scaled = rue_error_prior_scaled(evidence->prior, cell, before->cell);
    }
    for (size_t h = 0; h < evidence->hypothesis_count; h++) judge(evidence, h, log_ratio, sd);
    evidence->count++;
    return RUE_OK;
}

struct rue_error_scales rue_evidence_scales(const struct rue_evidence *evidence)
{
    double most = -INFINITY, sum = 0, alpha = 0, noise = 0;
    for (size_t h = 0; h < evidence->hypothesis_count; h++) most = fmax(most, evidence->log_probability[h]);
    for (size_t h = 0; h < evidence->hypothesis_count; h++) {
        const struct rue_error_scales *scales = &evidence->scales[h];
        double weight = exp(evidence->log_probability[h] - most);
        sum += weight;
        alpha += weight * scales->alpha * scales->alpha;
        noise += weight * scales->noise * scales->noise;
    }
    return (struct rue_error_scales){sqrt(alpha / sum), sqrt(noise / sum)};
}
