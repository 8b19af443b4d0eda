# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/style/cycles.sh tests/style/layout.sh tests/style/sizes.sh
