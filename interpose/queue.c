#include "interpose/queue.h"
bool queue_launch(const struct record_shape *shape)
{
    (void)shape;
    return false;
}
void queue_flush(void)
{
}
void queue_fork_child(void)
{
}
