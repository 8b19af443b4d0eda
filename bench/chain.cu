/* SPDX-License-Identifier: Apache-2.0
 * A chain of dependent elementwise kernels on one vector, in place; the same by hand in one kernel, and as a
 * CUDA graph, to compare with. */
#include "bench.h"
#include "chain.h"

struct chain {
    float *x;
    int n, length, blocks, by_hand, as_graph, waits;
    cudaGraphExec_t graph;
};

static void launch_links(struct chain *c, cudaStream_t stream)
{
    for (int k = 0; k < c->length; k++) {
        chain_links[k % 4]<<<c->blocks, 256, 0, stream>>>(c->x, c->n);
        if (c->waits) CHECK(cudaDeviceSynchronize());
    }
}

static void step(void *context, long)
{
    struct chain *c = (struct chain *)context;
    if (c->as_graph)
        CHECK(cudaGraphLaunch(c->graph, 0));
    else if (c->by_hand && c->length == 8)
        whole_chain<8><<<c->blocks, 256>>>(c->x, c->n, 8);
    else if (c->by_hand)
        whole_chain<0><<<c->blocks, 256>>>(c->x, c->n, c->length);
    else
        launch_links(c, 0);
}

static void capture_graph(struct chain *c)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch_links(c, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&c->graph, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    struct bench bench = {NULL, 100, 1, NULL, 0, 0};
    struct chain c = {};
    long size = 65536, length = 8;
    const struct option own[] = {
        {"size", &size, NULL, NULL, "floats in the vector"},
        {"length", &length, NULL, NULL, "kernels in the chain"},
        {"hand", NULL, NULL, &c.by_hand, "one kernel written by hand"},
        {"wait", NULL, NULL, &c.waits, "a wait for the device behind each kernel"},
        {"graph", NULL, NULL, &c.as_graph, "a CUDA graph of the chain"},
        {NULL, NULL, NULL, NULL, NULL},
    };
    bench_options(&bench, argc, argv, "A chain of dependent elementwise kernels, in place.", own);

    c.n = (int)size;
    c.length = (int)length;
    c.blocks = (c.n + 255) / 256;
    c.x = chain_vector(size);
    if (c.as_graph) capture_graph(&c);
    bench_loop(&bench, step, &c);

    const struct result results[] = {{"x", c.x, size * sizeof(float)}};
    bench_results(&bench, results, 1);
    return 0;
}
