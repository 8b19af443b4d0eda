# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/tools/explain.sh tests/tools/usage.sh
EXTRA_DIST += tests/tools/functions.sh tests/tools/explain.expected tests/tools/explain.kfplan/plan.json
