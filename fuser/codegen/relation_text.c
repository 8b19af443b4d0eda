/* SPDX-License-Identifier: Apache-2.0
 * See relation_text.h. */
#include "fuser/codegen/relation_text.h"

#include <isl/id.h>
#include <string.h>

static const char *const names[] = {"bz", "by", "bx", "tz", "ty", "tx"};

static __isl_give isl_pw_aff *value_of(__isl_keep isl_pw_multi_aff *coordinates, int d)
{
    isl_ctx *ctx = isl_pw_multi_aff_get_ctx(coordinates);
    isl_pw_aff *value = isl_pw_multi_aff_get_pw_aff(coordinates, d);
    value = isl_pw_aff_move_dims(value, isl_dim_param, 0, isl_dim_in, 0, 6);
    for (unsigned k = 0; k < 6; k++)
        value = isl_pw_aff_set_dim_id(value, isl_dim_param, k, isl_id_alloc(ctx, names[k], NULL));
    return isl_pw_aff_coalesce(isl_pw_aff_project_domain_on_params(value));
}

__isl_give isl_set *relation_text_set(__isl_keep isl_set *set)
{
    isl_set *named = isl_set_move_dims(isl_set_copy(set), isl_dim_param, 0, isl_dim_set, 0, 6);
    for (unsigned d = 0; d < 6; d++) named = isl_set_set_dim_name(named, isl_dim_param, d, names[d]);
    return isl_set_params(named);
}

char *relation_text(__isl_take isl_ast_expr *expression)
{
    char *text = expression ? isl_ast_expr_to_C_str(expression) : NULL;
    isl_ast_expr_free(expression);
    return text;
}

char *relation_text_value(isl_ast_build *build, __isl_keep isl_pw_multi_aff *coordinates, int d)
{
    isl_pw_aff *value = value_of(coordinates, d);
    if (isl_pw_aff_is_empty(value) != isl_bool_true)
        return relation_text(isl_ast_build_expr_from_pw_aff(build, value));
    isl_pw_aff_free(value);
    return strdup("0");
}
