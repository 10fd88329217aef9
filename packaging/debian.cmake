# Packages of Debian: `cpack -G DEB` in a build whose CMAKE_INSTALL_PREFIX is /usr makes one for each component.
set(dist_packages lib/python3/dist-packages)
configure_file(packaging/METADATA.in METADATA @ONLY)
install(DIRECTORY python/rue_tuner DESTINATION ${dist_packages} COMPONENT package EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN __pycache__ EXCLUDE)
install(TARGETS rue_python LIBRARY DESTINATION ${dist_packages}/rue_tuner COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/METADATA DESTINATION ${dist_packages}/rue_tuner-${PROJECT_VERSION}.dist-info
        COMPONENT package EXCLUDE_FROM_ALL)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PACKAGE_CONTACT "The rue authors <authors@rue.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

# What Debian's policy asks of each package beside its files.
set(debian_papers ${CMAKE_CURRENT_BINARY_DIR}/debian)
file(READ LICENSE licence)
file(WRITE ${debian_papers}/copyright "${licence}
On Debian, the GNU General Public License, version 3, is in /usr/share/common-licenses/GPL-3.
")
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC) # that of SOURCE_DATE_EPOCH, if it is set
install(CODE "execute_process(COMMAND gzip -9nf \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/rue.1)"
        COMPONENT program EXCLUDE_FROM_ALL)

# debian_package(COMPONENT NAME SECTION DEPENDS DESCRIPTION)
function(debian_package component name section depends description)
  string(TOUPPER ${component} key)
  set(changelog ${debian_papers}/${name}/changelog)
  file(WRITE ${changelog} "${name} (${PROJECT_VERSION}) unstable; urgency=medium

  * Made from the sources of this version, whose CHANGELOG.md says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${today}
")
  execute_process(COMMAND gzip -9nf ${changelog} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${debian_papers}/copyright ${changelog}.gz DESTINATION share/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/packaging/lintian/${name})
    install(FILES packaging/lintian/${name} DESTINATION share/lintian/overrides COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${description}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
endfunction()
debian_package(program rue science "" "Finds the data-loader configuration that is good for all your models
It makes short trials with a real loader before a training or inference job,
and compares configurations by how much longer each model takes.")
debian_package(library librue-dev libdevel
  "libarchive-dev, libblosc-dev, libjansson-dev, libjpeg-dev, libpng-dev, liburing-dev, libwebp-dev, libzstd-dev, zlib1g-dev"
  "Loader of rue for C programs
The image loader alone: headers, a static library, and flags for pkg-config.")
debian_package(package python3-rue-tuner python "python3 (>= 3.9), rue (= ${PROJECT_VERSION})"
  "Tunes data loaders of PyTorch, and loads images
rue_tuner.tune measures your own loader and training step. rue_tuner.Loader
loads images in threads, as tensors or NumPy arrays.")
set(CPACK_DEBIAN_PACKAGE_PACKAGE_SUGGESTS "python3-numpy, python3-torch, python3-torchvision")
# Compiles the modules, as packages of Debian do, and removes what was compiled.
set(CPACK_DEBIAN_PACKAGE_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/packaging/python/postinst
                                               ${CMAKE_CURRENT_SOURCE_DIR}/packaging/python/prerm)
set(CMAKE_PROJECT_DESCRIPTION "") # each package has a summary of its own
include(CPack)
